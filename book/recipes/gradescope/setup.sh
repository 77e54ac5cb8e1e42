#!/usr/bin/env bash
# Gradescope runs this once, as root and with the network, to make the image that submissions are graded in.
# Beside it lies `swimming`, the repository.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends build-essential ca-certificates curl
curl --proto '=https' --tlsv1.2 --silent --show-error --fail https://sh.rustup.rs | sh -s -- -y --profile minimal
export PATH="$HOME/.cargo/bin:$PATH"

# Everything is fetched and compiled here, and nothing when a student waits.
cd /autograder/source/swimming
cargo build --locked
cargo run -q -- doctor || true # the log of the image says what its sandbox can do
