// The driver of supervisors. A supervisor has no program, because the kernel does its work. This driver reports `up` at the start
// and `exited` at the stop. Test: test/processes/daemon/supervision.test.ts.
import type { Agent, Driver, KernelPort, Launch } from './port.ts'

export const supervisorDriver: Driver = {
  start: async (_: Launch, kernel: KernelPort): Promise<Agent> => {
    await kernel.report({ type: 'up' })
    return new Supervisor(kernel)
  },
}

class Supervisor implements Agent {
  readonly #kernel: KernelPort

  constructor(kernel: KernelPort) {
    this.#kernel = kernel
  }

  async deliver(): Promise<void> {}
  async proceed(): Promise<void> {}
  async interrupt(): Promise<void> {}
  async unpause(): Promise<void> {}

  /** Reports `drained` at once, because a supervisor never has work in progress. */
  async pause(): Promise<void> {
    await this.#kernel.report({ type: 'drained' })
  }

  async stop(): Promise<void> {
    await this.#kernel.report({ type: 'exited', code: 0, osSignal: null })
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
