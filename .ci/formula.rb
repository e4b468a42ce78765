# Installs a formula without Homebrew and without a network: ruby .ci/formula.rb FORMULA.rb PREFIX. It knows what
# deploy/homebrew/ipcperf.rb uses: where the archive is and its sum, what is installed where, and the test.
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

# A folder that files are installed into.
class Pathname
  def install(*files)
    mkpath
    FileUtils.cp_r(files.flatten, self)
  end
end

class Formula
  class << self
    attr_reader :source, :sum, :check

    def desc(text) = text.size > 80 && raise("a description of #{text.size} characters")

    def homepage(_) = nil

    def version(text = nil) = text ? @version = text : @version

    def license(_) = nil

    def depends_on(_) = nil

    def on_intel = yield

    def on_arm = nil

    def url(text) = @source = text

    def sha256(text) = @sum = text

    def test(&check) = @check = check
  end

  def initialize(prefix) = @prefix = Pathname(prefix)

  def version = self.class.version

  { bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d", zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d", doc: "share/doc/ipcperf" }.each do |name, folder|
    define_method(name) { @prefix / folder }
  end

  def shell_output(command) = `#{command}`

  def assert_match(expected, text) = text.include?(expected) || raise("#{text} without #{expected}")
end

formula, prefix = ARGV
load formula
archive = Ipcperf.source.delete_prefix("file://")
found = Digest::SHA256.file(archive).hexdigest
raise "#{archive} has the sum #{found}, not #{Ipcperf.sum}" if found != Ipcperf.sum

installed = Ipcperf.new(prefix)
Dir.mktmpdir do |folder|
  system("tar", "xzf", archive, "-C", folder, exception: true)
  Dir.chdir(folder) { installed.install }
end
installed.instance_eval(&Ipcperf.check)
puts Dir.glob("#{prefix}/**/*").count { |path| File.file?(path) }
