// How each kind of process can go on: what list-resumable shows, and what a resume and a fork refuse by.
import { expect, test } from 'vitest'
import { resumeModes } from '../../src/kernel/modes.ts'
import type { Process } from '../../src/kernel/types.ts'
import { Player } from '../support/kernel/transcript.ts'

function row(script: string, changes: { readonly format?: 'claude' | 'gemini' } = {}): Process {
  const player = new Player()
  player.play(script)
  const process = player.world.row('a') as Process
  return changes.format ? { ...process, spec: { ...process.spec, format: changes.format } } : process
}

const STEP = `
  .report a model 1
  .report a answer 1 calls=c1:once
  .report a tool c1
  .report a model 2
`
const NO_SESSION = 'a command has no session to go on with; it can be run again with --rerun'
const NATIVE = 'a native agent goes on from its context'

test.each([
  ['native', row(`.live a ${STEP}`), { continue: null, fork: null, fromStep: { from: 0, to: 1 }, rerun: NATIVE }],
  ['acp with a session', row('.spawn a acp\n.start a\n.report a up session=s1'), { continue: null, fork: null, fromStep: null, rerun: null }],
  ['acp that was asked and told no session', row('.live a acp'), { continue: 'agent default told no session to go on with; it can be run again with --rerun', fork: 'process 1 told no session that could be forked', fromStep: null, rerun: null }],
  ['a plain command', row('.live a command'), { continue: NO_SESSION, fork: 'a command has no session to fork; it can be run again with `reeve resume --rerun`', fromStep: null, rerun: null }],
  ['a plain command that is suspended: it just goes on', row('.live a command\n.signal SIGPAUSE a'), { continue: null, fork: 'a command has no session to fork; it can be run again with `reeve resume --rerun`', fromStep: null, rerun: 'it is suspended, and goes on where it is' }],
  ['Claude Code as a command', row('.spawn a command lines\n.start a\n.report a up\n.report a session s1'), { continue: null, fork: null, fromStep: null, rerun: null }],
  ['Gemini CLI as a command', row('.spawn a command lines\n.start a\n.report a up\n.report a session s1', { format: 'gemini' }), { continue: null, fork: 'Gemini CLI cannot fork its sessions; it can be resumed', fromStep: null, rerun: null }],
])('%s', (_, process, modes) => {
  expect(resumeModes(process)).toEqual(modes)
})
