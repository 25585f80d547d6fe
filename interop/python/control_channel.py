"""The peer's client on the control channel of a server: one function a scenario."""

import asyncio
import contextlib
from dataclasses import asdict

import _scenario
import hud.clients.client as client_module
from hud.agents.base import Agent
from hud.clients import HudProtocolError, connect
from hud.eval import Task
from hud.eval.run import Grade
from hud.eval.runtime import Runtime
from hud.graders.results import EvaluationResult


async def manifest(url):
    async with connect(Runtime(url)) as client:
        info = client.manifest
        return {
            "session": info.session_id,
            "env": [info.server_info.name, info.server_info.version],
            "bindings": [[b.name, b.protocol] for b in info.bindings],
            "tasks": await client.list_tasks(),
        }


async def episode(url):
    async with connect(Runtime(url)) as client:
        prompt = await client.start_task("add", {"a": 2})
        return [prompt, await client.grade({"answer": "3"})]


async def coerced(url):
    """Arguments and answers arrive as strings from a command line."""
    async with connect(Runtime(url)) as client:
        prompt = await client.start_task("add", {"a": "40", "b": "2"})
        return [prompt, await client.grade({"answer": " 42"})]


async def subscores(url):
    async with connect(Runtime(url)) as client:
        await client.start_task("essay", {})
        frame = await client.grade({"answer": "one two three"})
        grade = Grade.from_dict(frame)
        full = EvaluationResult.model_validate({**frame, "reward": frame["score"]})
        return {
            "reward": grade.reward,
            "content": grade.content,
            "info": grade.info,
            "subscores": grade.evaluation["subscores"],
            "parsed": [[s.name, s.value, s.weight] for s in full.subscores],
        }


async def split(url):
    """Start, hang up, and grade on a connection of its own, as two commands do."""
    async with connect(Runtime(url)) as client:
        first = client.manifest.session_id
        await client.start_task("add", {"a": 1})
    async with connect(Runtime(url)) as client:
        return [first != client.manifest.session_id, await client.grade({"answer": "2"})]


async def resumed(url):
    """Two parked sessions: each is resumed by its id, and graded as its own."""
    sessions = []
    for a in (1, 10):
        async with connect(Runtime(url)) as client:
            await client.start_task("add", {"a": a})
            sessions.append(client.manifest.session_id)
    scores = []
    for session, answer in zip(sessions, ("2", "11")):
        async with connect(Runtime(url)) as client:
            info = await client.hello(session)
            scores.append([info.session_id == session, (await client.grade({"answer": answer}))["score"]])
    return scores


async def errors(url):
    """Code and text of what goes wrong; the connection goes on."""
    seen = {}

    async def attempt(name, call):
        try:
            await call
        except HudProtocolError as error:
            seen[name] = [error.code, error.message]

    async with connect(Runtime(url)) as client:
        await attempt("nothing to grade", client.grade({"answer": "x"}))
        await attempt("unknown task", client.start_task("nope", {}))
        await attempt("bad args", client.start_task("add", {"a": "many"}))
        await attempt("task throws", client.start_task("fails", {}))
        await attempt("unknown session", client.hello("sess-00000000"))
        await attempt("unknown method", client._call("tasks.unknown", {}))
        await client.start_task("add", {"a": 1})
        seen["still works"] = (await client.grade({"answer": "2"}))["score"]
    return seen


async def cancelled(url):
    async with connect(Runtime(url)) as client:
        await client.start_task("add", {"a": 1})
        await client.cancel()
        await client.cancel()
        with contextlib.suppress(HudProtocolError):
            await client.grade({"answer": "2"})
            return "graded what was cancelled"
        return "cancelled"


async def abandoned(url):
    """What the peer does with a rollout that ran out of time: cancel in mid-call, then hang up."""
    async with connect(Runtime(url)) as client:
        starting = asyncio.create_task(client.start_task("endless", {}))
        await asyncio.sleep(0.2)
        await client._abandon_task()
        with contextlib.suppress(Exception):
            await starting
    return "abandoned"


async def heartbeat(url):
    """A heartbeat is a hello for one's own session; many of them while a task is open."""
    client_module._CONTROL_HEARTBEAT_INTERVAL_SECONDS = 0.02
    async with connect(Runtime(url)) as client:
        session = client.manifest.session_id
        await client.start_task("add", {"a": 1})
        await asyncio.sleep(0.5)
        score = (await client.grade({"answer": "2"}))["score"]
        return [score, client.manifest.session_id == session]


async def large(url):
    """Frames of megabytes, both ways."""
    async with connect(Runtime(url)) as client:
        frame = await client.start_task("mirror", {"size": 3_000_000})
        return [len(frame["prompt"]), (await client.grade({"answer": "y" * 5_000_000}))["score"]]


class Adder(Agent):
    """Answers `What is a + b?` from the prompt."""

    async def __call__(self, run):
        a, b = run.prompt_text.removeprefix("What is ").rstrip("?").split(" ")
        run.trace.content = str(int(a) + int(b))


async def rollout(url):
    """A whole rollout of the peer's: placement, agent, grade."""
    task = Task(env="exam", id="add", args={"a": 4, "b": 5})
    job = await task.run(Adder(), runtime=lambda _: _placed(url))
    (run,) = job.runs
    return {"reward": run.reward, "trace": run.trace.status, "error": run.trace.error}


@contextlib.asynccontextmanager
async def _placed(url):
    yield Runtime(url)


if __name__ == "__main__":
    _scenario.main(globals())
