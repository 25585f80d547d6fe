"""An environment of the peer's with a screen, made as its documentation makes one, for our client."""

import asyncio
import os
from pathlib import Path

from hud.capabilities import Capability
from hud.environment import Environment

env = Environment(name="peer-desktop", version="0.6.21")
folder = Path(os.environ["SCREEN_FOLDER"])
display = os.environ["SCREEN_DISPLAY"]
port = int(os.environ["SCREEN_PORT"])
processes = []


@env.initialize
async def up():
    async def start(*argv):
        # The peer says where it serves on the standard output, which is not for others.
        null = asyncio.subprocess.DEVNULL
        variables = {**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8"}
        processes.append(await asyncio.create_subprocess_exec(*argv, stdout=null, stderr=null, env=variables))

    await start("Xvfb", display, "-screen", "0", "640x480x24", "-nolisten", "tcp")
    while not Path(f"/tmp/.X11-unix/X{display[1:]}").exists():
        await asyncio.sleep(0.05)
    vnc = ["-rfbport", str(port), "-localhost", "-no6", "-forever", "-shared", "-passwd", "longer than 8"]
    await start("x11vnc", "-display", display, *vnc)
    await start("xterm", "-u8", "-geometry", "80x24+0+0", "-e", "sh", "-c", f"cat > {folder}/typed")
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.05)
    env.add_capability(Capability.rfb(url=f"127.0.0.1:{port}", password="longer than 8"))


@env.shutdown
async def down():
    for process in reversed(processes):
        if process.returncode is None:
            process.terminate()
        await process.wait()


@env.template(id="write", description="Type a word into the terminal")
async def write(word: str = "hello"):
    yield f"Type {word} and press Return."
    typed = folder / "typed"
    text = typed.read_text() if typed.exists() else ""
    yield {"score": 1.0 if text == f"{word}\n" else 0.0, "info": {"text": text}}
