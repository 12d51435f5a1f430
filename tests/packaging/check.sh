#!/usr/bin/env bash
# Build the wheel, install it outside the checkout, and use what ships in it: the command, one prompt, one bias.
set -euo pipefail
build_python=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build_python" -m build --wheel --outdir "$work/dist" . > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$build_python" -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/dist/*.whl
cd "$work"
./env/bin/recuse --help > help.txt
grep -q audit help.txt
./env/bin/recuse library show length > /dev/null
./env/bin/python - <<'PY'
import importlib.util
from pathlib import Path

import recuse
from recuse.library import load_bias
from recuse.prompts import load_prompt

package = Path(recuse.__file__).parent
assert "site-packages" in package.parts, package
assert (package / "prompts/pairwise/label.md").is_file()
assert load_prompt("pairwise/label").spec.labels == ("A", "B")
assert load_bias("length").id == "length"
assert importlib.util.find_spec("torch") is None, "the base install pulled torch"
PY
./env/bin/recuse audit --judge fake/skill=3 --pairs demo --out run --quiet || [ $? = 3 ]
test -s run/report.html
echo "The wheel works outside the checkout."
