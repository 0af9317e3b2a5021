// Checks the response to a steering command against the API's schema.
import { expect } from 'vitest'
import { responseSchemas } from '../../../src/daemon/http/responses.ts'

/** `steer` is the API's group of pause, resume and signal. */
export function expectSteerResponse(answer: unknown): void {
  expect(responseSchemas.steered.safeParse(answer)).toMatchObject({ success: true })
}
