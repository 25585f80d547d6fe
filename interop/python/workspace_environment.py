"""An environment of the peer's with a workspace, for our client."""

import os
from pathlib import Path

from hud.environment import Environment

env = Environment(name="peer-workspace", version="0.6.21")
shell = env.workspace(Path(os.environ["WORKSPACE_ROOT"]), track_files=True)


@env.template(id="write", description="Write a file")
async def write(name: str = "answer.txt"):
    answer = yield f"Write {name}."
    text = (Path(os.environ["WORKSPACE_ROOT"]) / name).read_text() if answer == "done" else ""
    yield {"score": 1.0 if text == "42\n" else 0.0, "info": {"text": text}}
