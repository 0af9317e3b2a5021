// The ways in which each kind of process can be resumed. `reeve list-resumable` shows them; a resume and a fork refuse the others.
import { expect, test } from 'vitest'
import { resumeModes } from '../../../../src/kernel/decide/resume-modes.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import { changedSpec } from '../../../support/spec-changes.ts'

function rowOf(script: string, changes: { readonly format?: 'claude' | 'gemini' } = {}): Process {
  const player = new TranscriptPlayer()
  player.play(script)
  const process = player.world.row('a') as Process
  return changes.format ? { ...process, spec: changedSpec(process.spec, { format: changes.format }) } : process
}

const STEP = `
  .report a model 1
  .report a answer 1 calls=c1:once
  .report a tool c1
  .report a model 2
`
const NO_SESSION = 'a command has no session to continue; --rerun runs it again'
const INPUT_LOST = 'its input was not recorded, so it cannot run again'
const NATIVE = 'a native agent continues from its context: resume it without --rerun, or start over with --fork --from-step 0'

test.each([
  ['a native agent', rowOf(`.live a ${STEP}`), { continue: null, fork: null, fromStep: { from: 0, to: 1 }, rerun: NATIVE }],
  [
    'an ACP agent with a session',
    rowOf('.spawn a acp\n.start a\n.report a up session=s1'),
    { continue: null, fork: null, fromStep: null, rerun: null },
  ],
  [
    'an ACP agent that reported no session',
    rowOf('.live a acp'),
    {
      continue: 'agent default reported no session to continue; --rerun runs it again',
      fork: 'process 1 reported no session that can be forked',
      fromStep: null,
      rerun: null,
    },
  ],
  [
    'a plain command',
    rowOf('.live a command'),
    {
      continue: NO_SESSION,
      fork: 'a command has no session to fork; `reeve resume --rerun` runs it again',
      fromStep: null,
      rerun: null,
    },
  ],
  [
    'a plain command with input',
    rowOf('.live a command input\n.report a exited 0\n.released a'),
    {
      continue: `a command has no session to continue; ${INPUT_LOST}`,
      fork: 'a command has no session to fork',
      fromStep: null,
      rerun: INPUT_LOST,
    },
  ],
  [
    'Claude Code as a command with input: its session has the input',
    rowOf('.spawn a command lines input\n.start a\n.report a up\n.report a session s1'),
    { continue: null, fork: null, fromStep: null, rerun: INPUT_LOST },
  ],
  [
    'a suspended plain command',
    rowOf('.live a command\n.signal SIGPAUSE a'),
    {
      continue: null,
      fork: 'a command has no session to fork; `reeve resume --rerun` runs it again',
      fromStep: null,
      rerun: 'it is suspended, and continues where it is',
    },
  ],
  [
    'Claude Code as a command',
    rowOf('.spawn a command lines\n.start a\n.report a up\n.report a session s1'),
    { continue: null, fork: null, fromStep: null, rerun: null },
  ],
  [
    'Gemini CLI as a command',
    rowOf('.spawn a command lines\n.start a\n.report a up\n.report a session s1', { format: 'gemini' }),
    { continue: null, fork: 'Gemini CLI cannot fork its sessions; it can be resumed', fromStep: null, rerun: null },
  ],
])('%s has its ways to resume', (_, process, modes) => {
  expect(resumeModes(process)).toEqual(modes)
})
