"""The same world as the bench's own, as a bridge of the peer."""

import os

import numpy as np
from hud.environment.robot import RobotBridge

print(f"PID {os.getpid()}", flush=True)


class StillBridge(RobotBridge):
    def __init__(self):
        super().__init__()
        # A slope with the noise of a sensor, as _robot_env.ts makes it.
        index = np.arange(224 * 224 * 3, dtype=np.uint64)
        noise = (((index * 2654435761) & 0xFFFFFFFF) >> 16) & 15
        image = ((index >> 10) + noise).astype(np.uint8).reshape(1, 224, 224, 3)
        self.data = {
            "observation/image": image,
            "observation/wrist_image": image.copy(),
            "observation/state": np.zeros((1, 8), dtype=np.float32),
        }
        self.contract = {"features": {"action": {"role": "action", "shape": [7]}}}

    def reset(self):
        return "look"

    def step(self, action):
        pass

    def get_observation(self):
        return self.data, np.zeros(1, dtype=bool)
