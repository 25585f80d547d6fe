"""The peer's client takes as many steps as a line says, and answers when it has."""

import asyncio
import sys

import numpy as np
from hud.capabilities import Capability
from hud.capabilities.robot import RobotClient


async def main(url):
    robot = await RobotClient.connect(Capability.robot(url=url, contract={}))
    await robot.get_observation()
    action = np.zeros(7, dtype=np.float32)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        for _ in range(int(line)):
            await robot.send_action(action)
            await robot.get_observation()
        print("done", flush=True)
    await robot.close()


asyncio.run(main(sys.argv[1]))
