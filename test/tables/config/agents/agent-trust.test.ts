// The trust in programs of agent files. A repository's file can name any program, so the user must name the agent or trust
// its directory.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findDistrust } from '../../../../src/config/agents/agent-trust.ts'
import { findAgent } from '../../../../src/config/agents/find-agents.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { tempDir } from '../../../support/tmp.ts'

const PROGRAM = '---\ndriver: command\ncommand: [sh, -c, "echo mine"]\n---\n'
const NATIVE = '---\n---\nBe kind.\n'

/**
 * Returns why the agent of a repository is not trusted, with the hint, or null. `named`: the user named it; `own`: the file of the user's
 * agent of that name; `trusts`: the trusted directories.
 */
async function distrustOf(
  name: string,
  text: string,
  { named = false, own, trusts = [] }: { named?: boolean; own?: string; trusts?: string[] } = {},
): Promise<string | null> {
  await using dir = await tempDir()
  const [repo, where] = [join(dir.path, 'repo'), pathsFrom({ REEVE_HOME: join(dir.path, 'home') })]
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  write(join(repo, '.reeve', 'agents', `${name}.md`), text)
  if (own !== undefined) write(join(where.agentsDir, `${name}.md`), own)
  const untrusted = await findDistrust(await findAgent(name, repo, where), named, {
    paths: where,
    trusted: trusts.map((trust) => join(dir.path, trust)),
  })
  return untrusted === null ? null : `${untrusted.why} | ${untrusted.hint}`.replaceAll(dir.path, 'DIR')
}

test.each<[string, Parameters<typeof distrustOf>, string | null]>([
  [
    'an agent that the user did not name needs trust',
    ['default-of-the-project', PROGRAM],
    'DIR/repo/.reeve/agents/default-of-the-project.md is not trusted to start a program (sh -c echo mine) | If you know what it starts: `reeve config trust DIR/repo`, or name it: `--agent default-of-the-project`.',
  ],
  ['an agent that the user named needs no trust', ['lint', PROGRAM, { named: true }], null],
  [
    'an agent in the place of the built-in default agent needs trust',
    ['default', PROGRAM],
    'DIR/repo/.reeve/agents/default.md is not trusted to start a program (sh -c echo mine) in place of the built-in agent `default` | If you know what it starts: `reeve config trust DIR/repo`.',
  ],
  [
    'a named agent in the place of a built-in one needs trust',
    ['claude', PROGRAM, { named: true }],
    'DIR/repo/.reeve/agents/claude.md is not trusted to start a program (sh -c echo mine) in place of the built-in agent `claude` | If you know what it starts: `reeve config trust DIR/repo`.',
  ],
  [
    "a named agent in the place of the user's own agent needs trust",
    ['lint', PROGRAM, { named: true, own: NATIVE }],
    'DIR/repo/.reeve/agents/lint.md is not trusted to start a program (sh -c echo mine) in place of your own agent `lint` | If you know what it starts: `reeve config trust DIR/repo`.',
  ],
  ["an agent in the place of the user's own agent needs no trust for the same program", ['lint', PROGRAM, { own: PROGRAM }], null],
  [
    'an agent with the built-in program and further settings needs no trust',
    ['claude', '---\ndriver: acp\ncommand: [claude-agent-acp]\npermissions: allow\n---\n'],
    null,
  ],
  [
    'an agent with the built-in program and a further argument needs trust',
    ['claude', '---\ndriver: acp\ncommand: [claude-agent-acp, --x]\n---\n', { named: true }],
    'DIR/repo/.reeve/agents/claude.md is not trusted to start a program (claude-agent-acp --x) in place of the built-in agent `claude` | If you know what it starts: `reeve config trust DIR/repo`.',
  ],
  ['an agent in a trusted directory needs no trust of its own', ['default', PROGRAM, { trusts: ['repo'] }], null],
  ['an agent below a trusted directory needs no trust of its own', ['default', PROGRAM, { trusts: ['.'] }], null],
  [
    'an agent beside a trusted directory needs trust',
    ['default', PROGRAM, { trusts: ['rep'] }],
    'DIR/repo/.reeve/agents/default.md is not trusted to start a program (sh -c echo mine) in place of the built-in agent `default` | If you know what it starts: `reeve config trust DIR/repo`.',
  ],
  ['an agent without a program needs no trust', ['default', NATIVE], null],
])('%s', async (_what, agent, expected) => {
  expect(await distrustOf(...agent)).toBe(expected)
})
