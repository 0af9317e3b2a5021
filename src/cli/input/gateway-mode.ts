// Parses the flag `--gateway` of run and resume. Test: test/e2e/external/gateway.test.ts.
import { UsageError } from '../errors.ts'
import type { SpawnBody } from '../../api/views/process.ts'
import { GATEWAY_MODES } from '../../kernel/model/words.ts'

/** Returns the mode; undefined: the flag is not given. Errors: usage. */
export function parseGatewayMode(text: string | undefined): SpawnBody['gateway'] {
  const mode = GATEWAY_MODES.find((known) => known === text)
  if (text !== undefined && !mode) throw new UsageError(`--gateway ${text}: choose from ${GATEWAY_MODES.join(', ')}`)
  return mode
}
