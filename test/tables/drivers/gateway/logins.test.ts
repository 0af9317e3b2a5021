// The advice for the user of each known agent that is not logged in.
import { RequestError } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { toLoginError } from '../../../../src/drivers/acp/session.ts'
import { KNOWN_CLIENTS } from '../../../../src/drivers/gateway/known-clients.ts'
import { loginAdvice, loginOf, withLoginAdvice } from '../../../../src/drivers/gateway/logins.ts'

const CLAUDE = 'Log in with `claude /login`, or set ANTHROPIC_API_KEY in the environment'

describe('the advice', () => {
  test.each([
    [['claude-agent-acp'], CLAUDE],
    [['npx', '-y', '@agentclientprotocol/claude-agent-acp@0.100.0'], CLAUDE],
    [['/opt/bin/claude', '-p', 'x'], CLAUDE],
    [['codex-acp'], 'Log in with `codex login`, or set OPENAI_API_KEY in the environment'],
    [['gemini', '--acp'], 'Log in with `gemini`, or set GEMINI_API_KEY in the environment'],
    [['opencode', 'acp'], "Log in with `opencode auth login`, or set the key of its model's provider in the environment"],
    [['an-agent-of-mine'], "Log in with the agent's own command line, or set its key in the environment"],
  ])('for %j', (argv, advice) => {
    expect(loginAdvice(loginOf(argv))).toBe(advice)
  })

  test('names a command for each known agent', () => {
    expect(KNOWN_CLIENTS.filter(({ login }) => login.command === '')).toEqual([])
  })
})

test.each([
  ['Not logged in · Please run /login', 'Claude Code', `Not logged in · Please run /login. ${CLAUDE}`],
  [
    'unexpected status 401 Unauthorized: Missing bearer or basic authentication in header',
    'Codex',
    'unexpected status 401 Unauthorized: Missing bearer or basic authentication in header. Log in with `codex login`, or set OPENAI_API_KEY in the environment',
  ],
  ['API Error: 529 overloaded', 'Claude Code', 'API Error: 529 overloaded'],
  ['Not logged in', 'Another', 'Not logged in'],
])('the advice is added to the error %j of %s, if that is about the login of a known agent', (error, title, expected) => {
  expect(withLoginAdvice(error, title)).toBe(expected)
})

test('the error of an ACP agent has one period before the advice', () => {
  const error = toLoginError(new RequestError(-32_000, 'Gemini API key is missing or not configured.'), ['gemini', '--acp'])
  expect(error?.message).toBe(
    'it is not logged in: Gemini API key is missing or not configured. Log in with `gemini`, or set GEMINI_API_KEY in the environment',
  )
})
