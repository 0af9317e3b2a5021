// Finds the providers that a process may call through the gateway. Test: test/e2e/external/gateway.test.ts.
import { COMMON_PROVIDERS, clientOf, type KnownClient } from '../../drivers/gateway/clients.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** Returns the names of the providers that a process would call through the gateway. Their keys are looked up before it starts. */
export function gatewayProviders(spec: ProcessSpec): readonly string[] {
  if (spec.argv === null || spec.gateway === 'off') return []
  const client = clientOf(spec)
  if (client) return reasonAgainstGateway(client, spec) === undefined ? client.providers : []
  return spec.gateway === 'on' ? COMMON_PROVIDERS : []
}

/**
 * Returns why a client cannot use the gateway even with all keys; undefined if it can. A login of the client does not count if the user
 * requested the gateway.
 */
export function reasonAgainstGateway({ bypass, login }: KnownClient, { gateway }: ProcessSpec): string | undefined {
  return bypass ?? (gateway === 'on' ? undefined : login)
}
