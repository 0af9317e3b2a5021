// Which processes call their models through the gateway, and what they get there: decided when an incarnation starts, by what was
// asked for, who the agent is and whether its provider's key is there. Owns the one gateway of the daemon, which is loaded and
// listens when the first of them starts. Test: test/e2e/gateway.test.ts.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { splitEnv } from '../config/credentials.ts'
import { keyNames } from '../config/model-keys.ts'
import { COMMON_PROVIDERS, clientOf, type KnownClient } from '../drivers/gateway/clients.ts'
import { isExternal, isPlainCommand } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { keysBehind, withoutSeat, type SeatHolder } from './nested.ts'
import type { Provider } from '../config/config.ts'
import type { Gateway, GatewaySeat } from '../drivers/gateway/gateway.ts'
import type { Recorder } from '../drivers/gateway/record.ts'
import type { SeatProvider } from '../drivers/gateway/seat.ts'
import type { KernelPort, LaunchGateway } from '../drivers/port.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Clock } from './clock.ts'
import type { Keys } from './keys.ts'
import type { Settings } from './settings.ts'

interface GatewaysParts {
  readonly keys: Pick<Keys, 'known'>
  readonly settings: Settings
  readonly clock: Clock
  /** where what is recorded lies */
  readonly state: string
  readonly log: (message: string, error: unknown) => void
}

type Kind = Pick<ProcessSpec, 'driver' | 'format' | 'argv' | 'env' | 'credentials' | 'cwd' | 'model' | 'gateway'>

/** Whether its calls go through the gateway, or why not, in words for people; null: it is none that could. */
export type Decision = { readonly on: true } | { readonly on: false; readonly why: string } | null

/** What an agent goes through the gateway with, until it is closed. */
export type OpenGateway = LaunchGateway & Pick<GatewaySeat, 'close'>

/** The providers that it would call through the gateway: their keys are looked for before it starts. */
export function gatewayProviders(spec: Kind): readonly string[] {
  if (!isExternal(spec) && !isPlainCommand(spec)) return []
  if (spec.gateway === 'off') return []
  const client = clientOf(spec)
  if (client) return barredBy(client, spec) === undefined ? client.providers : []
  return spec.gateway === 'on' ? COMMON_PROVIDERS : []
}

/** Why it does not go through the gateway, whatever keys there are; a login of its own is no reason where the gateway is asked for. */
function barredBy({ elsewhere, login }: KnownClient, { gateway }: Kind): string | undefined {
  return elsewhere ?? (gateway === 'on' ? undefined : login)
}

/** As a start says it, and the journal keeps it. */
export function startWith(decision: Decision): { readonly metered?: true; readonly direct?: string } {
  if (decision === null) return {}
  return decision.on ? { metered: true } : { direct: decision.why }
}

export class Gateways {
  readonly #parts: GatewaysParts
  #gateway: Promise<Gateway> | null = null
  #open: Gateway | null = null

  constructor(parts: GatewaysParts) {
    this.#parts = parts
  }

  /** Its keys have been looked for. */
  decide({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): Decision {
    if (!isExternal(spec) && !isPlainCommand(spec)) return null
    const client = clientOf(spec)
    if (spec.gateway === 'off') return { on: false, why: 'as asked for' }
    // Of an agent that nobody knows there is nothing to tell.
    if (client === null && spec.gateway !== 'on') return null
    const barred = client ? barredBy(client, spec) : undefined
    if (barred !== undefined) return { on: false, why: barred }
    const names = gatewayProviders(spec)
    if (this.#providers(uuid, spec).length > 0) return { on: true }
    const unknown = names.filter((name) => !this.#parts.settings.now.providers.some((one) => one.name === name))
    if (unknown.length > 0) return { on: false, why: `${unknown.join(', ')} is no provider of reeve's: it is called directly` }
    return { on: false, why: `no key of ${names.join(', ')}: it uses a login of its own` }
  }

  /** Opens its seat. Errors: INVALID where it was asked for and cannot be. */
  async open({ uuid, pid, spec }: Process, port: KernelPort, heard: () => void): Promise<OpenGateway> {
    const decision = this.decide({ uuid, spec })
    if (!decision?.on) throw new KernelError('INVALID', `its models cannot be called through the gateway: ${decision?.why ?? 'it is none that could'}`)
    const gateway = await this.#loaded()
    const { settings } = this.#parts
    const { url, token, close } = await gateway.open({ uuid, pid, port, heard, providers: this.#providers(uuid, spec), recorder: await this.#recorder(uuid) })
    return { url, token, close, hides: [...keyNames(settings.now.providers)] }
  }

  /** The process at the gateway that asks with this environment; null: it is a person's, or of a process that calls its models itself. */
  holder(env: Readonly<Record<string, string>>): SeatHolder | null {
    const found = this.#open?.holder(Object.values(env))
    if (!found) return null
    const { seat: { uuid, pid, token, providers }, origin } = found
    return { uuid, pid, token, providers, origin }
  }

  /** The secrets of a client's environment: where that is of an agent at the gateway, the keys behind its seat that this process wants, in place of its token. */
  secretsOf(env: Readonly<Record<string, string>>, spec: Kind): Readonly<Record<string, string>> {
    const { providers } = this.#parts.settings.now
    const holder = isPlainCommand(spec) && spec.gateway !== 'on' ? null : this.holder(env)
    if (holder === null) return splitEnv(env, keyNames(providers)).secrets
    const used = gatewayProviders(spec)
    const wanted = spec.driver === 'native' ? spec.credentials : providers.flatMap(({ name, apiKeyEnv }) => (used.includes(name) ? apiKeyEnv ?? [] : []))
    return { ...keysBehind(holder, wanted), ...splitEnv(withoutSeat(env, holder, {}), keyNames(providers)).secrets }
  }

  /** What was recorded of its calls goes with it. */
  async remove(uuid: Uuid): Promise<void> {
    await rm(this.#dirOf(uuid), { recursive: true, force: true, maxRetries: 2 })
  }

  async close(): Promise<void> {
    await (await this.#gateway)?.close()
  }

  /** Those that it may call, with their keys; only those whose key is there, or that want none. */
  #providers(uuid: Uuid, spec: Kind): readonly SeatProvider[] {
    const { keys, settings } = this.#parts
    const known = keys.known(uuid)
    const bases = clientOf(spec)?.bases ?? {}
    return gatewayProviders(spec).flatMap((name) => {
      const config = settings.now.providers.find((one) => one.name === name)
      if (!config) return []
      const key = config.apiKeyEnv === null ? null : (known[config.apiKeyEnv] ?? '')
      return key === '' ? [] : [{ config: moved(config, spec.env, bases[name]), key }]
    })
  }

  #loaded(): Promise<Gateway> {
    this.#gateway ??= this.#load().then((gateway) => (this.#open = gateway))
    return this.#gateway
  }

  async #load(): Promise<Gateway> {
    const { clock, settings, log } = this.#parts
    const [{ Gateway }, { costUsd, rates }] = await Promise.all([import('../drivers/gateway/gateway.ts'), import('../drivers/native/prices.ts')])
    return new Gateway({
      clock, log,
      prices: {
        rates: (priced, inputTokens) => rates({ ...priced, own: settings.now.prices }, inputTokens),
        cost: (priced, tokens) => costUsd({ ...priced, own: settings.now.prices }, tokens),
      },
      rateLimits: () => settings.now.gateway.rateLimits,
    })
  }

  async #recorder(uuid: Uuid): Promise<Recorder | null> {
    if (!this.#parts.settings.now.gateway.record) return null
    const { Recorder: Files } = await import('../drivers/gateway/record.ts')
    return new Files(this.#dirOf(uuid), this.#parts.log)
  }

  #dirOf(uuid: Uuid): string {
    return join(this.#parts.state, 'gateway', uuid)
  }
}

/** Where the settings of the agent or its environment say that it is: a company's own gateway, say. */
function moved(config: Provider, env: ProcessSpec['env'], own: string | undefined): Provider {
  const baseURL = own ?? (config.baseURLEnv === undefined ? '' : (env[config.baseURLEnv] ?? ''))
  return baseURL === '' ? config : { ...config, baseURL }
}
