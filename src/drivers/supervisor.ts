// The driver of supervisors: there is no program, the kernel does their work. Owns that one is ready when it was asked to run,
// and ends when it is told to. Test: test/processes/supervision.test.ts.
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

  /** Nothing of it is ever in flight. */
  async pause(): Promise<void> {
    await this.#kernel.report({ type: 'drained' })
  }

  async stop(): Promise<void> {
    await this.#kernel.report({ type: 'exited', code: 0, osSignal: null })
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
