// Decides which processes call their models through the gateway, with which providers and keys, and opens their access. The decision is
// made when an incarnation starts, by the user's setting, the agent, and the available keys. The daemon has one gateway, which is loaded
// when the first process uses it. Test: test/e2e/external/gateway.test.ts.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { splitEnv } from '../../config/credentials/secret-variables.ts'
import { keyVariableNames } from '../../config/credentials/model-keys.ts'
import { clientOf } from '../../drivers/gateway/clients.ts'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { providerKeysOf, withoutCallerAccess, type GatewayCaller } from './gateway-caller.ts'
import type { Provider } from '../../config/config.ts'
import type { Gateway, GatewayAccess } from '../../drivers/gateway/gateway.ts'
import type { CallRecorder } from '../../drivers/gateway/call-recorder.ts'
import type { SessionProvider } from '../../drivers/gateway/session.ts'
import type { KernelPort, LaunchGateway } from '../../drivers/port.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Clock } from '../loop/clock.ts'
import type { Credentials } from './credentials.ts'
import type { Settings } from '../host/settings.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { ProcessSpec, ProgramSpec } from '../../kernel/model/process-spec.ts'
import { reasonAgainstGateway, gatewayProviders } from './gateway-providers.ts'

interface GatewaySessionsDeps {
  readonly credentials: Pick<Credentials, 'storedKeys'>
  readonly settings: Settings
  readonly clock: Clock
  /** the daemon's state directory, for the recorded calls */
  readonly state: string
  readonly log: (message: string, error: unknown) => void
}

/** Whether a process uses the gateway. `why` is the reason against it, as text for users. Null if the gateway does not apply to it. */
export type GatewayDecision = { readonly on: true } | { readonly on: false; readonly why: string } | null

/** An incarnation's access to the gateway, until it is closed. */
export type OpenGateway = LaunchGateway & Pick<GatewayAccess, 'close'>

/** Returns the decision as fields of the `start` input. */
export function startFieldsOf(decision: GatewayDecision): { readonly metered?: true; readonly direct?: string } {
  if (decision === null) return {}
  return decision.on ? { metered: true } : { direct: decision.why }
}

export class GatewaySessions {
  readonly #deps: GatewaySessionsDeps
  #loading: Promise<Gateway> | null = null
  #loaded: Gateway | null = null

  constructor(deps: GatewaySessionsDeps) {
    this.#deps = deps
  }

  /** Decides whether a process uses the gateway. Its keys must have been looked up before. */
  decide({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): GatewayDecision {
    if (spec.argv === null) return null
    const client = clientOf(spec)
    if (spec.gateway === 'off') return { on: false, why: 'as requested' }
    // There is no reason to show: the gateway is never expected for an unknown agent.
    if (client === null && spec.gateway !== 'on') return null
    const reason = client ? reasonAgainstGateway(client, spec) : undefined
    if (reason !== undefined) return { on: false, why: reason }
    const names = gatewayProviders(spec)
    if (this.#providers(uuid, spec).length > 0) return { on: true }
    const unknown = names.filter((name) => !this.#deps.settings.now.providers.some((provider) => provider.name === name))
    if (unknown.length > 0)
      return { on: false, why: `${unknown.join(', ')} is not a provider that reeve knows: the agent calls it directly` }
    return { on: false, why: `no key of ${names.join(', ')}: the agent uses its own login` }
  }

  /** Opens the gateway access of an incarnation. Errors: INVALID if the process cannot use the gateway. */
  async open({ uuid, pid, spec }: Process, port: KernelPort, onActivity: () => void): Promise<OpenGateway> {
    const decision = this.decide({ uuid, spec })
    if (!decision?.on || spec.argv === null)
      throw new KernelError(
        'INVALID',
        `this process cannot use the gateway: ${decision?.on === false ? decision.why : 'its driver does not support it'}`,
      )
    const gateway = await this.#loadOnce()
    const { settings } = this.#deps
    const { url, token, close } = await gateway.open({
      uuid,
      pid,
      port,
      onActivity,
      providers: this.#providers(uuid, spec),
      recorder: await this.#recorder(uuid),
    })
    return { url, token, close, hiddenVariables: [...keyVariableNames(settings.now.providers)] }
  }

  /** Finds the process whose gateway token the environment contains. Null for the user, or a process that calls its models directly. */
  findCaller(env: Readonly<Record<string, string>>): GatewayCaller | null {
    const found = this.#loaded?.findSession(Object.values(env))
    if (!found) return null
    const {
      session: { uuid, pid, token, providers },
      origin,
    } = found
    return { uuid, pid, token, providers, origin }
  }

  /**
   * Returns the secrets in a client's environment. If the client is an agent at the gateway, its provider keys replace its gateway token.
   */
  secretsOf(env: Readonly<Record<string, string>>, spec: ProcessSpec): Readonly<Record<string, string>> {
    const { providers } = this.#deps.settings.now
    const caller = isPlainCommand(spec) && spec.gateway !== 'on' ? null : this.findCaller(env)
    if (caller === null) return splitEnv(env, keyVariableNames(providers)).secrets
    const used = gatewayProviders(spec)
    const wanted =
      spec.driver === 'native'
        ? spec.credentials
        : providers.flatMap(({ name, apiKeyEnv }) => (used.includes(name) ? (apiKeyEnv ?? []) : []))
    return { ...providerKeysOf(caller, wanted), ...splitEnv(withoutCallerAccess(env, caller, {}), keyVariableNames(providers)).secrets }
  }

  /** Deletes the recorded calls of a process. */
  async removeRecordings(uuid: Uuid): Promise<void> {
    await rm(this.#dirOf(uuid), { recursive: true, force: true, maxRetries: 2 })
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close()
  }

  /** The providers that a process may call, with their keys. A provider that needs a key and has none is left out. */
  #providers(uuid: Uuid, spec: ProgramSpec): readonly SessionProvider[] {
    const { credentials, settings } = this.#deps
    const known = credentials.storedKeys(uuid)
    const bases = clientOf(spec)?.bases ?? {}
    return gatewayProviders(spec).flatMap((name) => {
      const config = settings.now.providers.find((provider) => provider.name === name)
      if (!config) return []
      const key = config.apiKeyEnv === null ? null : (known[config.apiKeyEnv] ?? '')
      return key === '' ? [] : [{ config: withBaseUrl(config, spec.env, bases[name]), key }]
    })
  }

  #loadOnce(): Promise<Gateway> {
    this.#loading ??= this.#load().then((gateway) => (this.#loaded = gateway))
    return this.#loading
  }

  async #load(): Promise<Gateway> {
    const { clock, settings, log } = this.#deps
    const [{ Gateway }, { costUsd, ratesFor }] = await Promise.all([
      import('../../drivers/gateway/gateway.ts'),
      import('../../drivers/native/models/prices.ts'),
    ])
    return new Gateway({
      clock,
      log,
      prices: {
        rates: (priced, inputTokens) => ratesFor({ ...priced, userPrices: settings.now.prices }, inputTokens),
        cost: (priced, tokens) => costUsd({ ...priced, userPrices: settings.now.prices }, tokens),
      },
      rateLimits: () => settings.now.gateway.rateLimits,
    })
  }

  async #recorder(uuid: Uuid): Promise<CallRecorder | null> {
    if (!this.#deps.settings.now.gateway.record) return null
    const { CallRecorder: Recorder } = await import('../../drivers/gateway/call-recorder.ts')
    return new Recorder(this.#dirOf(uuid), this.#deps.log)
  }

  #dirOf(uuid: Uuid): string {
    return join(this.#deps.state, 'gateway', uuid)
  }
}

/** Returns the provider with the base URL of the agent's settings or environment, for example that of a company's own gateway. */
function withBaseUrl(config: Provider, env: ProcessSpec['env'], clientUrl: string | undefined): Provider {
  const baseURL = clientUrl ?? (config.baseURLEnv === undefined ? '' : (env[config.baseURLEnv] ?? ''))
  return baseURL === '' ? config : { ...config, baseURL }
}
