"""`recuse export push`: to a folder, to a hub that a loopback server plays, and what is never sent."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from recuse.cli import run
from recuse.errors import AuthError, InputError, MissingExtra, ProviderError, TransientError, UsageError
from recuse.export.preference_plan import PreferenceConfig
from recuse.export.preferences import preferences
from recuse.export.push import push

pytest.importorskip("datasets")
hub = pytest.importorskip("huggingface_hub")
TOKEN = "hf_a-token-of-nobody"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "set"
    preferences(PreferenceConfig("demo", out, biases=("authority",)))
    return out


class Hub:
    """A server with the four addresses that an upload asks. `status`: what the first of them answers."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.created: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.summary = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append(self.path)
                outer.tokens.add(self.headers.get("Authorization"))
                answer = outer.answer(self.path, body)
                self.send_response(outer.status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def do_GET(self) -> None:
                outer.asked.append(self.path)
                self.send_response(404 if outer.status == 200 else outer.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: bytes) -> Any:
        if path == "/api/repos/create":
            self.created = json.loads(body)
            return {"url": f"{self.address}/datasets/me/mine"}
        if "/preupload/" in path:
            files = json.loads(body)["files"]
            return {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]}
        if "/commit/" in path:
            for line in body.decode().strip().split("\n"):
                item = json.loads(line)
                if item["key"] == "header":
                    self.summary = item["value"]["summary"]
                else:
                    self.files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            return {"commitUrl": f"{self.address}/datasets/me/mine/commit/abc", "commitOid": "a" * 40}
        return {"errors": [], "warnings": []}  # the check of the card's front matter


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    found = Hub()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", found.address)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_a_folder_gets_every_file_and_the_set_can_be_loaded_there(made: Path, tmp_path: Path) -> None:
    import datasets

    where = push(made, str(tmp_path / "mirror"))
    assert where == str(tmp_path / "mirror")
    assert {p.name: p.read_bytes() for p in Path(where).iterdir()} == {p.name: p.read_bytes() for p in made.iterdir()}
    loaded = datasets.load_dataset(where, "standard", cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].num_rows == 108
    with pytest.raises(UsageError, match="is not empty"):
        push(made, where)


def test_a_hub_gets_a_private_data_set_and_one_commit_with_every_file(made: Path, server: Hub) -> None:
    assert push(made, "me/mine", message="First") == f"{server.address}/datasets/me/mine"
    assert (server.created["name"], server.created["organization"]) == ("mine", "me")
    assert server.created["type"] == "dataset"
    assert server.created.get("visibility") == "private" or server.created.get("private") is True
    assert server.files == {p.name: p.read_bytes() for p in made.iterdir()}
    assert server.summary == "First"
    assert sum("/commit/" in path for path in server.asked) == 1
    assert server.tokens == {f"Bearer {TOKEN}"}


def test_the_command_says_where_the_set_is_now_and_nothing_of_the_libraries(made: Path, server: Hub) -> None:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["export", "push", str(made), "me/mine", "--public"])
    assert (code, out.getvalue(), err.getvalue()) == (0, f"{server.address}/datasets/me/mine\n", "")
    assert server.created.get("visibility") == "public" or server.created.get("private") is False


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, AuthError, r"does not let you write to me/mine \(HTTP 401\).*hf auth login"),
        (403, AuthError, "HTTP 403"),
        (404, ProviderError, "The hub refused me/mine"),
        (500, TransientError, "could not take me/mine"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence_without_the_token(
    made: Path, server: Hub, status: int, kind: type[Exception], said: str
) -> None:
    server.status = status
    with pytest.raises(kind, match=said) as caught:
        push(made, "me/mine")
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.files == {}


def test_a_hub_that_is_not_there_can_be_tried_again_and_offline_nothing_is_sent(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(TransientError, match=r"The hub http://127\.0\.0\.1:9 cannot be reached") as caught:
        push(made, "me/mine")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("name", ["me/mine/too", "with blank", "", "a" * 100])
def test_a_name_that_is_none_on_the_hub_is_refused_before_anything_is_sent(made: Path, server: Hub, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a data set on the hub"):
        push(made, name)
    assert server.asked == []


def test_a_folder_that_is_no_export_or_that_datasets_cannot_read_is_never_sent(
    made: Path, server: Hub, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"this folder holds no export.*--out folder"):
        push(tmp_path, "me/mine")
    torn = tmp_path / "torn"
    torn.mkdir()
    for file in made.iterdir():
        content = file.read_bytes()
        (torn / file.name).write_bytes(
            content[: len(content) // 2] if file.name == "standard-train.parquet" else content
        )
    with pytest.raises(InputError, match="`datasets` cannot read this set"):
        push(torn, "me/mine")
    (torn / "export.json").write_text("{")
    with pytest.raises(InputError, match=r"export\.json: not JSON"):
        push(torn, "me/mine")
    assert server.asked == []


def test_a_benchmark_that_people_have_not_released_goes_to_a_folder_and_not_to_the_hub(
    made: Path, server: Hub, tmp_path: Path
) -> None:
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    for file in made.iterdir():
        (waiting / file.name).write_bytes(file.read_bytes())
    record = json.loads((made / "export.json").read_text())
    blocked = {**record, "release": {"ready": False, "why": "people have not verified the sample yet"}}
    (waiting / "export.json").write_text(json.dumps(blocked))
    with pytest.raises(UsageError, match=r"not ready for release: people have not verified.*recuse export verify"):
        push(waiting, "me/mine")
    assert server.asked == []
    assert push(waiting, str(tmp_path / "there")) == str(tmp_path / "there")


def test_without_the_package_the_command_that_installs_it_is_named(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "datasets" else real(name, *a))
    with pytest.raises(MissingExtra, match=r"pip install 'recuse\[data\]'"):
        push(made, str(tmp_path / "there"))
    assert not (tmp_path / "there").exists()
