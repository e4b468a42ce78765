# Installs the archive of a release, from the folder Formula of a tap: brew install OWNER/TAP/ipcperf. `.ci/release` fills in
# what stands between @.
class Ipcperf < Formula
  desc "Measures inter-process communication on Linux"
  homepage "@RELEASES@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "@RELEASES@/ipcperf-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@x86_64@"
  end
  on_arm do
    url "@RELEASES@/ipcperf-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@aarch64@"
  end

  def install
    bin.install "bin/ipcperf"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/ipcperf"
    zsh_completion.install "share/zsh/site-functions/_ipcperf"
    fish_completion.install "share/fish/vendor_completions.d/ipcperf.fish"
    doc.install Dir["share/doc/ipcperf/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ipcperf --version")
  end
end
