"""An environment of the peer's with a browser that it starts itself, for our client."""

import asyncio
import os
import re
import shutil
import tempfile
from pathlib import Path

from hud.capabilities import Capability
from hud.environment import Environment

env = Environment(name="peer-browser", version="0.6.21")
running = {}


@env.initialize
async def up():
    profile = tempfile.mkdtemp(prefix="cdp_", dir=os.environ["BROWSER_ROOT"])
    # The environment is root's in a container of its own, as the peer's documentation has it.
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    running["process"] = await asyncio.create_subprocess_exec(
        os.environ["BROWSER"],
        "--headless=new",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        *sandbox,
        "about:blank",
        stderr=asyncio.subprocess.DEVNULL,
    )
    port_file = Path(profile) / "DevToolsActivePort"
    while not port_file.exists() or not (found := re.match(r"(\d+)\n/devtools/", port_file.read_text())):
        await asyncio.sleep(0.05)
    running["profile"] = profile
    env.add_capability(Capability.cdp(name="browser", url=f"{os.environ['FORM']}127.0.0.1:{found[1]}"))


@env.shutdown
async def down():
    running["process"].terminate()
    await running["process"].wait()
    shutil.rmtree(running["profile"], ignore_errors=True)


@env.template(id="title", description="Set a title")
async def title():
    answer = yield "Set the page's title, and say what it is."
    yield {"score": 1.0 if answer == "hello" else 0.0}
