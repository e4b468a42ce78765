# Installs the archive of a release: nix profile install PATH. `.ci/release` fills in what stands between @.
{
  description = "ipcperf measures inter-process communication on Linux";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs =
    { self, nixpkgs }:
    let
      archives = {
        x86_64-linux = { target = "x86_64-unknown-linux-musl"; sha256 = "@x86_64@"; };
        aarch64-linux = { target = "aarch64-unknown-linux-musl"; sha256 = "@aarch64@"; };
      };
      package =
        system:
        { target, sha256 }:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        pkgs.stdenvNoCC.mkDerivation {
          pname = "ipcperf";
          version = "@VERSION@";
          src = pkgs.fetchurl {
            url = "@RELEASES@/ipcperf-@VERSION@-${target}.tar.gz";
            inherit sha256;
          };
          # The archive has bin and share, and no folder around them. Its program is static.
          dontUnpack = true;
          dontFixup = true;
          installPhase = "mkdir -p $out && tar xzf $src -C $out";
          meta.mainProgram = "ipcperf";
        };
    in
    {
      packages = builtins.mapAttrs (system: archive: { default = package system archive; }) archives;
    };
}
