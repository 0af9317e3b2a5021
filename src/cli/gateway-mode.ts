// The words of `--gateway`, for the verbs that start and resume. Test: test/e2e/gateway.test.ts.
import { UsageError } from './errors.ts'
import type { SpawnBody } from '../api/views.ts'

export const GATEWAY_MODES = ['auto', 'on', 'off'] as const

export function gatewayOf(text: string | undefined): SpawnBody['gateway'] {
  const mode = GATEWAY_MODES.find((each) => each === text)
  if (text !== undefined && !mode) throw new UsageError(`--gateway ${text}: there is ${GATEWAY_MODES.join(', ')}`)
  return mode
}
