# SPDX-License-Identifier: MIT
# A formula for Homebrew: brew install --HEAD ./packaging/homebrew/cordon.rb
# It was written beside the sources and has been run nowhere yet (docs/platforms.md).
class Cordon < Formula
  desc "Run commands so that they can touch only what a policy allows"
  homepage "https://cordon.example/"
  license "MIT"
  head "https://cordon.example/cordon.git", branch: "main"

  depends_on "meson" => :build
  depends_on "ninja" => :build

  on_macos do
    depends_on macos: :big_sur
  end

  def install
    system "meson", "setup", "build", "-Dprogram_only=true", *std_meson_args
    system "meson", "compile", "-C", "build"
    system "meson", "install", "-C", "build"
    man1.install "man/cordon.1"
    bash_completion.install "completions/cordon.bash" => "cordon"
    zsh_completion.install "completions/cordon.zsh" => "_cordon"
    fish_completion.install "completions/cordon.fish"
    pkgshare.install "schemas", "examples"
    doc.install Dir["docs/*.md"]
  end

  def caveats
    <<~EOS
      Running commands on macOS is a preview: see docs/platforms.md. It has to be
      switched on in ~/.config/cordon/config.toml:
        features.macos_preview = true
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cordon --version") unless build.head?
    assert_match ":workspace", shell_output("#{bin}/cordon profiles")
    # P16: what is missing is named, and nothing runs.
    output = shell_output("#{bin}/cordon run -- /usr/bin/true 2>&1", 125)
    assert_match "kernel", output
  end
end
