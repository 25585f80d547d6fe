"""A bridge as the peer's users write it; also environments of Gymnasium."""

import gymnasium
import numpy as np
from hud.environment.robot import RobotBridge


class CountingBridge(RobotBridge):
    """Counts its steps; slots of a batch end one after another."""

    def __init__(self, end: int = 3, slots: int = 1):
        super().__init__()
        self.end = end
        self.slots = slots
        self.num_envs = slots
        self.metadata = {"backend": "numpy"}
        self.contract = {
            "robot_type": "counter",
            "control_rate": 50,
            "features": {
                "image": {"role": "observation", "type": "rgb", "shape": [16, 16, 3]},
                "state": {"role": "observation", "names": ["count", "last"]},
                "action": {"role": "action", "shape": [2]},
            },
        }
        self.ticks = 0
        self.last = np.zeros((slots, 2), dtype=np.float32)

    def reset(self, seed: int = 0, fail: bool = False):
        if fail:
            raise ValueError("as told")
        self.ticks = seed
        return f"count to {self.end}"

    def step(self, action):
        if action[0][0] == 666:
            raise RuntimeError("the arm fell off")
        self.ticks += 1
        self.last = action

    def get_observation(self):
        n = self.slots
        state = np.stack([np.array([self.ticks, self.last[i][0]], dtype=np.float32) for i in range(n)])
        image = np.full((n, 16, 16, 3), self.ticks, dtype=np.uint8)
        over = np.array([self.ticks >= self.end + i for i in range(n)])
        self.success = True
        return {"image": image, "state": state, "reward": np.ones(n, dtype=np.float32)}, over


class Scalar(gymnasium.ActionWrapper):
    """The peer's bridge hands a discrete environment an array, which a plain one refuses."""

    def action(self, action):
        return int(np.asarray(action).item())


def cartpole():
    return Scalar(gymnasium.make("CartPole-v1"))


def pendulum():
    return gymnasium.make("Pendulum-v1", max_episode_steps=25)
