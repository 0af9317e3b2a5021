// The answer to an answer, held to what the API says of it.
import { expect } from 'vitest'
import { answers } from '../../src/daemon/http/answers.ts'

export function steered(answer: unknown): void {
  expect(answers.steered.safeParse(answer)).toMatchObject({ success: true })
}
