"""Ray for real: a cluster of several nodes on loopback, judges that nap, nodes and processes that are killed.

Every node has one GPU in Ray's books, and a replica takes one, so that each replica sits on a node of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from instant import make_ask

from recuse.backends import Backend, Options, open_backend
from recuse.errors import Incomplete, InputError, ProviderError, UsageError
from recuse.examine import run_audit
from recuse.ledger import call_key
from recuse.plan import AuditConfig, plan_audit
from recuse.types import Call, Reply

# Before ray is imported anywhere: nothing of a test leaves loopback.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0",
               "RAY_health_check_period_ms": "500", "RAY_health_check_initial_delay_ms": "500"}  # fmt: skip
pytest.importorskip("ray")
pytestmark = pytest.mark.engine

JUDGE = """
import hashlib, os, time
import ray

def judge(messages):
    text = messages[-1]["content"]
    where = ray.get_runtime_context().get_node_id() if ray.is_initialized() else "here"
    with open("asked.log", "a") as log:
        log.write(f"{hashlib.sha256(text.encode()).hexdigest()} {where} {os.getpid()}\\n")
    time.sleep(NAP)
    if "KILLER" in text:
        os._exit(1)
    if "FAULT" in text:
        raise ValueError("no such luck")
    return "A" if hashlib.sha256(text.encode()).digest()[0] < 128 else "B"
"""


class Nodes:
    """A cluster that grows and shrinks."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        self.more: list[Any] = []

    def have(self, n: int) -> None:
        while len(self.more) < n:
            self.more.append(self.cluster.add_node(num_cpus=1, num_gpus=1))

    def kill(self, node: str) -> None:
        found = next(one for one in self.more if one.node_id == node)
        self.more.remove(found)
        self.cluster.remove_node(found, allow_graceful=False)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    import ray

    made = Nodes()
    yield made
    ray.shutdown()
    made.cluster.shutdown()


@pytest.fixture
def here(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a judge of one's own, with the cluster's address set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_ADDRESS", nodes.cluster.address)
    return tmp_path


def spread(model: str, replicas: str, nap: float = 0.0, **options: Any) -> Backend:
    return open_backend(f"ray/{replicas}*{write(model, nap)}", Options(tensor_parallel=1, **options))


def write(module: str, nap: float) -> str:
    Path(f"{module}.py").write_text(JUDGE.replace("NAP", str(nap)))
    return f"python/{module}:judge"


def calls(backend: Backend, n: int, **special: str) -> list[Call]:
    """Two calls for each of `n` pairs; `special` puts another text into the first call of a pair."""
    made = []
    for i in range(n):
        for view in (0, 1):
            text = special.get(f"p{i}", f"question {i}") if view == 0 else f"question {i} again"
            ask = make_ask(f"p{i}", text=text)
            body = backend.body(ask)
            made.append(Call(call_key(backend.name, body, ask.prompt, ask.repeat), ask, body))
    return made


def asked() -> list[tuple[str, str, int]]:
    """Text, node and process of everything that the judge was asked."""
    lines = (line.split() for line in Path("asked.log").read_text().splitlines())
    return [(text, node, int(process)) for text, node, process in lines]


def texts(replies: list[Reply]) -> dict[str, str]:
    assert len(replies) == len({reply.key for reply in replies})
    return {reply.key: reply.text for reply in replies}


def test_findings_are_those_of_one_process_on_one_node_and_on_three(nodes: Nodes, here: Path) -> None:
    judge = write("judge_same", 0.0)
    found = [findings(judge, here / "plain")]
    nodes.have(1)
    found.append(findings(f"ray/1*{judge}", here / "one", tensor_parallel=1))
    nodes.have(3)
    Path("asked.log").unlink()
    found.append(findings(f"ray/3*{judge}", here / "three", tensor_parallel=1))
    assert found[0] == found[1] == found[2]
    assert len({node for _, node, _ in asked()}) == 3
    kept = [tomllib.loads((here / run / "run.toml").read_text())["run"] for run in ("plain", "one", "three")]
    assert kept[0] == kept[1] == kept[2]
    assert kept[2]["judge"] == judge


def test_a_node_that_is_killed_costs_its_calls_in_flight_and_no_reply(nodes: Nodes, here: Path) -> None:
    nodes.have(3)
    backend, replies, killed = spread("judge_node", "3", nap=0.05), [], ""
    try:
        wanted = calls(backend, 60)
        for reply in backend.generate(iter(wanted)):
            replies.append(reply)
            if len(replies) == 30:
                killed = Counter(node for _, node, _ in asked()).most_common(1)[0][0]
                nodes.kill(killed)
    finally:
        backend.close()
    assert texts(replies) == texts(list(open_backend(backend.name).generate(iter(wanted))))
    times = Counter(text for text, node, _ in asked() if node != "here")
    # One is at work, and one or two more may be answered and on their way.
    assert 120 <= sum(times.values()) <= 123
    assert max(times.values()) <= 2
    assert len({node for _, node, _ in asked()} - {"here"}) == 3


def test_a_killed_process_is_started_again_and_works_on(nodes: Nodes, here: Path) -> None:
    nodes.have(1)
    backend, replies, first = spread("judge_process", "1", nap=0.02), [], 0
    try:
        wanted = calls(backend, 30)
        for reply in backend.generate(iter(wanted)):
            replies.append(reply)
            if len(replies) == 15:
                first = asked()[-1][2]
                os.kill(first, signal.SIGKILL)
        assert "1 lost" in getattr(backend, "progress", "")
    finally:
        backend.close()
    assert set(texts(replies)) == {call.key for call in wanted}
    processes = Counter(process for _, _, process in asked())
    assert len(processes) == 2
    assert 60 <= sum(processes.values()) <= 63


def test_a_call_that_kills_every_replica_is_left_unanswered_and_no_other(nodes: Nodes, here: Path) -> None:
    nodes.have(2)
    backend, replies = spread("judge_killer", "2", nap=0.02, concurrency=4), list[Reply]()
    try:
        wanted = calls(backend, 12, p3="KILLER")
        with pytest.raises(Incomplete, match="1 ask stayed unanswered: lost 3 times"):
            replies.extend(backend.generate(iter(wanted)))
    finally:
        backend.close()
    assert len(texts(replies)) == 23
    times = Counter(text for text, _, _ in asked())
    assert times[hashlib.sha256(b"KILLER").hexdigest()] == 3
    assert len(times) == 24


def test_a_model_joins_when_its_machine_comes(nodes: Nodes, here: Path) -> None:
    while nodes.more:
        nodes.kill(nodes.more[-1].node_id)
    nodes.have(1)
    backend, replies = spread("judge_elastic", "1-2", nap=0.05), []
    try:
        for reply in backend.generate(iter(calls(backend, 120))):
            replies.append(reply)
            if len(replies) == 10:
                nodes.have(2)
    finally:
        backend.close()
    assert len(texts(replies)) == 240
    share = Counter(node for _, node, _ in asked())
    assert len(share) == 2
    assert min(share.values()) > 5


def test_a_run_that_began_in_one_process_goes_on_on_two_machines(nodes: Nodes, here: Path) -> None:
    nodes.have(2)
    judge, stop = write("judge_resume", 0.0), threading.Event()
    whole = findings(judge, here / "whole")
    Path("asked.log").unlink()
    begun = plan_audit(AuditConfig(judge, "demo", out=here / "run"))
    with pytest.raises(Incomplete, match="Stopped by the user"):
        run_audit(begun, watch=lambda spend, total: stop.set() if spend.done >= 40 else None, stop=stop)
    assert len(asked()) == 40
    assert findings(f"ray/2*{judge}", here / "run", tensor_parallel=1) == whole
    assert len(asked()) == len({text for text, _, _ in asked()}) == 120


def test_a_second_driver_is_kept_off_the_run_folder(nodes: Nodes, here: Path) -> None:
    nodes.have(1)
    judge = write("judge_two", 0.0)
    refused: list[str] = []

    def intrude(spend: Any, total: int) -> None:
        if not refused:
            with pytest.raises(UsageError) as error:
                run_audit(second)
            refused.append(str(error.value))

    first, second = (
        plan_audit(AuditConfig(name, "demo", out=here / "run", options=Options(tensor_parallel=1)))
        for name in (f"ray/1*{judge}", judge)
    )
    try:
        run_audit(first, watch=intrude)
    finally:
        first.close()
    assert refused == [f"Another process is working in {here / 'run'}. Wait for it, or give --out another folder."]


def test_errors_of_the_model_reach_the_user_as_they_are(nodes: Nodes, here: Path) -> None:
    nodes.have(1)
    backend = spread("judge_fault", "1")
    try:
        with pytest.raises(UsageError, match=r"Your function judge_fault:judge failed: ValueError: no such luck"):
            list(backend.generate(iter(calls(backend, 3, p1="FAULT"))))
        assert len(list(backend.generate(iter(calls(backend, 3))))) == 6  # the replica is as good as before
    finally:
        backend.close()
    with pytest.raises(InputError, match=r"gone\.gguf: no such file"):
        open_backend("ray/1*llamacpp/gone.gguf")


def test_a_replica_of_another_version_is_refused(nodes: Nodes, here: Path) -> None:
    nodes.have(1)
    Path("judge_other.py").write_text("import os\nif 'RAY_RAYLET_PID' in os.environ:\n    __file__ = 'elsewhere'\n"
                                      "def judge(messages):\n    return 'A'\n")  # fmt: skip
    with pytest.raises(ProviderError, match=r"differ: judge_other:judge unknown on \S+, \w+ elsewhere\. Install"):
        open_backend("ray/1*python/judge_other:judge")


def test_ray_is_started_for_the_run_and_stopped_after_it(tmp_path: Path) -> None:
    code = (
        "import os, sys; from recuse.cli import run;"
        "code = run(['audit', '--judge', 'ray/2*fake/skill=2', '--pairs', 'demo', '--out', 'run', '--json']);"
        "from pathlib import Path; me = str(os.getpid());"
        "left = [p.parent.name for p in Path('/proc').glob('[0-9]*/stat') if p.read_text().split()[3] == me];"
        "print(code, left, file=sys.stderr)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stderr.strip() == "0 []", done.stderr
    assert json.loads(done.stdout) == json.loads((tmp_path / "run" / "findings.json").read_text())
    assert json.loads(done.stdout)["judge"] == "fake/skill=2"


def findings(judge: str, out: Path, **options: Any) -> Any:
    """What an audit of the demo pairs finds."""
    plan = plan_audit(AuditConfig(judge, "demo", out=out, options=Options(**options)))
    try:
        run_audit(plan)
    finally:
        plan.close()
    told = json.loads((out / "findings.json").read_text())
    return {name: value for name, value in told.items() if name not in ("usage", "run")}
