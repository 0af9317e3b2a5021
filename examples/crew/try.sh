#!/bin/sh
# Creates a small repository in a new folder, copies the crew's files beside it, and starts the crew there: `sh try.sh [DIR]`.
# REEVE is the command to use (default: the reeve in your PATH, else the one built in this checkout). The folder is kept, so that you can inspect it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ -n "${REEVE:-}" ] || command -v reeve > /dev/null || PATH=$here/../../bin:$PATH
there=${1:-$(mktemp -d)}
mkdir -p "$there/shop"
cp "$here/reeve.yaml" "$here/tasks.md" "$here/offline.yaml" "$there"
cd "$there/shop"
git init -q -b main
echo 'exports.total = (items) => items.reduce((sum, item) => sum + item.price, 0)' > cart.js
git add .
git -c user.name=shop -c user.email=shop@example.invalid commit -q -m 'A shop with a cart'
# The author of the commits, if git has none.
git config user.name > /dev/null || git config user.name shop
git config user.email > /dev/null || git config user.email shop@example.invalid

${REEVE:-reeve} crew up shop
${REEVE:-reeve} merge --quiet shop
echo "merged into main in $there/shop:"
git log --oneline --no-merges
node -p "require('./receipt.js').receipt(200, 10, 0.2)"
