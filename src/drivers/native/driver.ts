// The driver of native agents: the model is called from here, in the daemon, and the loop is ours. What it needs is loaded
// when the first agent starts, so that a daemon without one carries none of it.
// Tests: test/e2e/native.test.ts and its siblings.
import type { Driver, KernelPort, Launch } from '../port.ts'
import type { NativeAgent } from './agent.ts'
import type { ProviderConfig } from './models.ts'
import type { RetryPolicy } from './retry.ts'

export interface NativeOptions {
  /** all that there are; looked at whenever an agent starts */
  readonly providers: readonly ProviderConfig[]
  /** sent with every call */
  readonly maxOutputTokens?: number
  readonly retry?: RetryPolicy
  /** a stream that sends nothing for so long is cut */
  readonly idleMs?: number
}

const MAX_OUTPUT_TOKENS = 16_384
const IDLE_MS = 300_000

export function nativeDriver(options: NativeOptions): Driver {
  return {
    capabilities: { resume: 'context', fork: 'any-step', softPause: true },
    start: (launch, kernel) => start(launch, kernel, options),
  }
}

/** Errors: those of `resolveModel`. */
async function start(launch: Launch, kernel: KernelPort, options: NativeOptions): Promise<NativeAgent> {
  const [{ NativeAgent }, { resolveModel }, { loadContext }, { RETRY }, { Toolbox }, { Freezer }] = await Promise.all([
    import('./agent.ts'), import('./models.ts'), import('./context.ts'), import('./retry.ts'), import('./tools/toolbox.ts'), import('./tools/freezer.ts'),
  ])
  const { spec, credentials } = launch
  const model = await resolveModel(spec.model, {
    providers: options.providers,
    maxOutputTokens: options.maxOutputTokens ?? MAX_OUTPUT_TOKENS,
    idleMs: options.idleMs ?? IDLE_MS,
    cwd: spec.cwd,
    lookup: (name) => credentials[name] ?? spec.env[name],
  })
  const context = await loadContext(launch.history)
  return new NativeAgent({ kernel, launch, model, context, toolbox: new Toolbox(spec), freezer: new Freezer(), retry: options.retry ?? RETRY })
}
