// The driver of processes without a program: supervisors, crews and compose runs. The kernel and the daemon do their work. This driver
// reports `up` at the start and `exited` at the stop. Test: test/processes/daemon/supervision.test.ts.
import type { Agent, Driver, KernelPort, Launch } from './port.ts'

export const driverWithoutProgram: Driver = {
  start: async (_: Launch, kernel: KernelPort): Promise<Agent> => {
    await kernel.report({ type: 'up' })
    return new AgentWithoutProgram(kernel)
  },
}

class AgentWithoutProgram implements Agent {
  readonly #kernel: KernelPort

  constructor(kernel: KernelPort) {
    this.#kernel = kernel
  }

  async deliver(): Promise<void> {}
  async proceed(): Promise<void> {}
  async interrupt(): Promise<void> {}
  async unpause(): Promise<void> {}

  /** Reports `drained` at once, because there is no program that could be in the middle of its work. */
  async pause(): Promise<void> {
    await this.#kernel.report({ type: 'drained' })
  }

  async stop(): Promise<void> {
    await this.#kernel.report({ type: 'exited', code: 0, osSignal: null })
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
