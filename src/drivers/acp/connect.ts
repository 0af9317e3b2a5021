// The client's side of the protocol: which of an agent's requests are heard, and what is told to it that reeve can do.
// Only what the process may do is offered, and refused all the same where it is not.
// Tests: test/processes/acp-client.test.ts, test/processes/acp-asks.test.ts.
import { RequestError, client, methods } from '@agentclientprotocol/sdk'
import type { ClientCapabilities, ClientConnection, Stream } from '@agentclientprotocol/sdk'
import path from 'node:path'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { Asks } from './asks.ts'
import type { Files } from './files.ts'
import { isDenied } from './policy.ts'
import type { Rules } from './policy.ts'
import type { Refused } from './refusals.ts'
import type { Terminals } from './terminals.ts'

export interface Served {
  readonly asks: Asks
  readonly files: Files
  readonly terminals: Terminals
  readonly rules: Rules & Pick<ProcessSpec, 'argv'>
  /** told each update as it comes */
  readonly heard: (params: unknown) => void
  readonly refused: Refused
}

/** Gemini CLI (0.61) takes it for a failure when a file that it is to make is not there yet: it has to look for itself. */
const READ_THEMSELVES = ['gemini']

export function capabilitiesOf(rules: Rules & Pick<ProcessSpec, 'argv'>): ClientCapabilities {
  const isOffered = !(rules.argv ?? []).some((word) => READ_THEMSELVES.includes(path.basename(word)))
  return {
    fs: { readTextFile: isOffered && !isDenied('read', rules), writeTextFile: isOffered && !isDenied('edit', rules) },
    terminal: !isDenied('execute', rules),
    elicitation: { form: {} },
    session: { notices: {}, compaction: {} },
  }
}

export function connect(stream: Stream, { asks, files, terminals, rules, heard, refused }: Served): ClientConnection {
  const { session, fs, terminal, elicitation } = methods.client
  const can = capabilitiesOf(rules)
  const mayRun = (): void => {
    if (can.terminal === true) return
    refused('tools', 'a terminal')
    throw RequestError.methodNotFound(terminal.create)
  }
  const app = client({ name: 'reeve' })
  // The first handler is called in the turn in which the message comes, so that no answer to a prompt overtakes its updates.
  app.onNotification(session.update, (params: unknown) => params, ({ params }) => heard(params))
  app.onRequest(session.requestPermission, ({ params, signal }) => asks.permission(params, signal))
  app.onRequest(elicitation.create, ({ params, signal }) => asks.elicit(params, signal))
  app.onRequest(fs.readTextFile, ({ params }) => files.read(params))
  app.onRequest(fs.writeTextFile, ({ params }) => files.write(params))
  app.onRequest(terminal.create, ({ params }) => {
    mayRun()
    return terminals.create(params)
  })
  app.onRequest(terminal.output, ({ params }) => terminals.output(params.terminalId))
  app.onRequest(terminal.waitForExit, ({ params }) => terminals.waitForExit(params.terminalId))
  app.onRequest(terminal.kill, ({ params }) => terminals.kill(params.terminalId))
  app.onRequest(terminal.release, ({ params }) => terminals.release(params.terminalId))
  return app.connect(stream)
}
