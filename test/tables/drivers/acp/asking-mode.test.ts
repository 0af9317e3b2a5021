// The enforcement of permissions for external agents by ACP: the mode and the settings of each agent, and refusals.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { askingMeta, askingModeFor, describeEnforcement, withAskingSettings } from '../../../../src/drivers/acp/asking-mode.ts'
import { tempDir } from '../../../support/tmp.ts'
import type { AcpSpec } from '../../../../src/kernel/model/process-spec.ts'
import { changedSpec, type SpecChanges } from '../../../support/spec-changes.ts'

type SpecPart = SpecChanges

const specOf = (argv: readonly string[], changes: SpecPart = {}): AcpSpec => {
  const spec: AcpSpec = {
    name: null,
    agent: 'coder',
    driver: 'acp',
    intent: '',
    cwd: '/',
    interactive: true,
    model: null,
    system: null,
    tools: null,
    deny: [],
    argv,
    env: {},
    credentials: [],
    containment: 'auto',
    limits: {},
  }
  return changedSpec(spec, { ...changes, driver: 'acp' })
}
const CLAUDE = ['claude-agent-acp']
const ASK: SpecPart = { permissions: { default: 'ask' } }
const ALLOW: SpecPart = { permissions: { default: 'allow' } }

describe('the mode of an agent', () => {
  test.each<[string, readonly string[], SpecPart, string | null, readonly string[] | null]>([
    ['is the asking mode by default', CLAUDE, {}, 'default', ['default', 'plan', 'dontAsk']],
    [
      'of Claude Code started by its npm package',
      ['npx', '-y', '@agentclientprotocol/claude-agent-acp@latest'],
      ASK,
      'default',
      ['default', 'plan', 'dontAsk'],
    ],
    ['of Codex', ['codex-acp'], { permissions: { default: 'deny' } }, 'read-only', ['read-only']],
    ['of Gemini CLI', ['gemini', '--acp'], { deny: ['bash'] }, 'default', ['default', 'plan']],
    ['of OpenCode', ['opencode', 'acp'], { ...ALLOW, capabilities: { paths: { write: ['/x'] } } }, 'build', ['build', 'plan']],
    ['with a denied tool beside allowed ones', CLAUDE, { ...ALLOW, deny: ['bash'] }, 'default', ['default', 'plan', 'dontAsk']],
    [
      'with one tool whose calls need an answer',
      CLAUDE,
      { permissions: { default: 'allow', tools: { execute: 'ask' } } },
      'default',
      ['default', 'plan', 'dontAsk'],
    ],
    [
      'with everything allowed except the network',
      CLAUDE,
      { ...ALLOW, capabilities: { network: 'off' } },
      'default',
      ['default', 'plan', 'dontAsk'],
    ],
    ['is the stricter mode of the agent file', CLAUDE, { ...ASK, mode: 'plan' }, 'plan', ['default', 'plan', 'dontAsk']],
    ["is the agent's default if everything is allowed", CLAUDE, ALLOW, null, null],
    ['is the configured mode if everything is allowed', CLAUDE, { ...ALLOW, mode: 'auto' }, 'auto', null],
    ['is the looser mode of the agent file if there are no limits', CLAUDE, { mode: 'auto' }, 'auto', null],
    ['is not set if its own settings decide', CLAUDE, { permissions: { default: 'agent' } }, null, null],
    ['is the configured mode if its own settings decide', CLAUDE, { permissions: { default: 'agent' }, mode: 'auto' }, 'auto', null],
    ['of an unknown agent', ['other'], {}, null, null],
    ['of an unknown agent whose file names its mode', ['other'], { ...ASK, mode: 'careful' }, 'careful', ['careful']],
    ['of an unknown agent whose file states that it asks', ['other'], { deny: ['bash'], asks: true }, null, null],
  ])('%s', (_, argv, changes, mode, enforcedModes) => {
    expect(askingModeFor(specOf(argv, changes))).toEqual({ mode, enforcedModes })
  })

  test.each<[string, readonly string[], SpecPart, string]>([
    [
      'it is looser than the permissions',
      CLAUDE,
      { ...ASK, mode: 'auto' },
      'agent "coder" cannot be held to its permissions in the mode auto: it does not ask there',
    ],
    [
      'it is looser than a denied tool',
      ['codex-acp'],
      { deny: ['bash'], mode: 'full-access' },
      'agent "coder" cannot be held to its permissions in the mode full-access: it does not ask there',
    ],
    [
      'a tool is denied while its own settings decide',
      CLAUDE,
      { permissions: { default: 'agent' }, deny: ['bash'] },
      'agent "coder" cannot be held to limits on tools and paths while its own settings decide what it asks about',
    ],
    [
      'the agent is not known',
      ['other'],
      { permissions: { default: 'deny' } },
      'agent "coder" cannot be held to its permissions: reeve does not know in which mode it asks',
    ],
  ])('is refused if %s', (_, argv, changes, message) => {
    expect(() => askingModeFor(specOf(argv, changes))).toThrowError(
      expect.objectContaining({ code: 'PERMISSION', message, hint: expect.stringContaining('--permissions allow') }),
    )
  })

  test.each<[SpecPart, string | null]>([
    [{}, 'reeve keeps it in the mode default, in which it asks'],
    [ALLOW, null],
    [{ permissions: { default: 'agent' } }, 'its own settings decide what it asks about'],
    [{ mode: 'auto' }, 'it decides itself when to ask in the mode auto'],
  ])('is described for the spec %j', (changes, description) => {
    expect(describeEnforcement(specOf(CLAUDE, changes))).toBe(description)
  })
})

describe('the settings', () => {
  const startAgent = (dir: string, argv: readonly string[], changes: SpecPart, env: Record<string, string> = {}) =>
    withAskingSettings({ spec: specOf(argv, changes), tmpDir: dir }, { argv, env })

  test("of OpenCode ask or deny, and keep the user's own", async () => {
    await using dir = await tempDir()
    const { env } = await startAgent(
      dir.path,
      ['opencode', 'acp'],
      { deny: ['bash'] },
      { OPENCODE_CONFIG_CONTENT: '{"model":"a/b","permission":"allow","agent":{"mine":{"model":"c","permission":"allow"}}}' },
    )
    const config = JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '') as {
      model: string
      permission: Record<string, string>
      agent: Record<string, { model?: string; permission: Record<string, string> }>
    }
    expect(config).toMatchObject({
      model: 'a/b',
      permission: { bash: 'deny', edit: 'ask' },
      agent: {
        build: { permission: { bash: 'deny', edit: 'ask' } },
        plan: { permission: { edit: 'deny' } },
        mine: { model: 'c', permission: { edit: 'ask' } },
      },
    })
  })

  test('of Gemini CLI are a policy of its administrator', async () => {
    await using dir = await tempDir()
    const { argv } = await startAgent(dir.path, ['gemini', '--acp'], { deny: ['bash'] })
    const file = join(dir.path, 'reeve-policy.toml')
    expect(argv).toEqual(['gemini', '--admin-policy', file, '--acp'])
    expect(readFileSync(file, 'utf8')).toContain('toolName = ["run_shell_command"]\ndecision = "deny"')
  })

  test('of Codex remove its shell if that is denied', async () => {
    const { env } = await startAgent('/nowhere', ['codex-acp'], { deny: ['bash'] }, { CODEX_CONFIG: '{"model":"m","features":{"x":true}}' })
    expect(JSON.parse(env['CODEX_CONFIG'] ?? '')).toEqual({ model: 'm', features: { x: true, shell_tool: false, unified_exec: false } })
    expect((await startAgent('/nowhere', ['codex-acp'], ASK)).env).toEqual({})
  })

  test('of Claude Code are in the request for its session', () => {
    const metaOf = (changes: SpecPart): unknown => askingMeta(specOf(CLAUDE, changes))
    expect(metaOf({ deny: ['bash', 'read'] })).toMatchObject({ _meta: { claudeCode: { options: { disallowedTools: ['Bash', 'Read'] } } } })
    expect(metaOf({ tools: ['read', 'edit'] })).toMatchObject({
      _meta: { claudeCode: { options: { disallowedTools: ['Bash', 'WebFetch', 'WebSearch', 'Grep', 'Glob'] } } },
    })
    expect(metaOf(ALLOW)).toEqual({})
  })

  test('stay unchanged if everything is allowed', async () => {
    expect(await startAgent('/nowhere', ['opencode', 'acp'], ALLOW)).toEqual({ argv: ['opencode', 'acp'], env: {} })
  })
})
