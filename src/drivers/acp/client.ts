// The client side of ACP: handles the agent's requests and declares reeve's client capabilities. Offers only what the process may
// do, and refuses any other request. Tests: test/processes/acp/client.test.ts, test/processes/acp/permission-requests.test.ts.
import { RequestError, client, methods } from '@agentclientprotocol/sdk'
import type { ClientCapabilities, ClientConnection, Stream } from '@agentclientprotocol/sdk'
import path from 'node:path'
import type { PermissionRequests } from './permission-requests.ts'
import type { ClientFiles } from './client-files.ts'
import { isDenied } from './policy.ts'
import type { Rules } from './policy.ts'
import type { ReportRefusal } from './refusals.ts'
import type { Terminals } from './terminals.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'

export interface ClientHandlers {
  readonly permissionRequests: PermissionRequests
  readonly files: ClientFiles
  readonly terminals: Terminals
  readonly rules: Rules & Pick<AcpSpec, 'argv'>
  /** called with each update as it arrives */
  readonly onUpdate: (params: unknown) => void
  readonly reportRefusal: ReportRefusal
}

/** Programs that must read and write files themselves. Gemini CLI (0.61) fails if a file that it wants to create does not exist yet. */
const PROGRAMS_WITH_OWN_FILE_ACCESS = ['gemini']

/** Returns the client capabilities that reeve declares to the agent. */
export function capabilitiesOf(rules: Rules & Pick<AcpSpec, 'argv'>): ClientCapabilities {
  const offersFiles = !rules.argv.some((arg) => PROGRAMS_WITH_OWN_FILE_ACCESS.includes(path.basename(arg)))
  return {
    fs: { readTextFile: offersFiles && !isDenied('read', rules), writeTextFile: offersFiles && !isDenied('edit', rules) },
    terminal: !isDenied('execute', rules),
    elicitation: { form: {} },
    session: { notices: {}, compaction: {} },
  }
}

/** Connects to the agent and handles its requests. */
export function connectAgent(
  stream: Stream,
  { permissionRequests, files, terminals, rules, onUpdate, reportRefusal }: ClientHandlers,
): ClientConnection {
  const { session, fs, terminal, elicitation } = methods.client
  const can = capabilitiesOf(rules)
  const requireTerminals = (): void => {
    if (can.terminal === true) return
    reportRefusal('tools', 'a terminal')
    throw RequestError.methodNotFound(terminal.create)
  }
  const app = client({ name: 'reeve' })
  // The first handler runs in the event-loop turn in which a message arrives. So no prompt result overtakes earlier updates.
  app.onNotification(
    session.update,
    (params: unknown) => params,
    ({ params }) => onUpdate(params),
  )
  app.onRequest(session.requestPermission, ({ params, signal }) => permissionRequests.handlePermissionRequest(params, signal))
  app.onRequest(elicitation.create, ({ params, signal }) => permissionRequests.handleElicitation(params, signal))
  app.onRequest(fs.readTextFile, ({ params }) => files.read(params))
  app.onRequest(fs.writeTextFile, ({ params }) => files.write(params))
  app.onRequest(terminal.create, ({ params }) => {
    requireTerminals()
    return terminals.create(params)
  })
  app.onRequest(terminal.output, ({ params }) => terminals.output(params.terminalId))
  app.onRequest(terminal.waitForExit, ({ params }) => terminals.waitForExit(params.terminalId))
  app.onRequest(terminal.kill, ({ params }) => terminals.kill(params.terminalId))
  app.onRequest(terminal.release, ({ params }) => terminals.release(params.terminalId))
  return app.connect(stream)
}
