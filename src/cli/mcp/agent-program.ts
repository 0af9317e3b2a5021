// The program that an agent starts for reeve's own tools. The build keeps it as a text inside of the daemon, which writes it into a file.
// So an agent needs no file of the installation. Without a build, agents start `reeve mcp`.
// Test: test/e2e/daemon/upgrade.test.ts.
import { agentEndpoint, serveStdio } from './stdio.ts'
import { errorText } from '../../kernel/util/error-text.ts'

const source = agentEndpoint()
if (source === null) throw new Error('REEVE_MCP_TOKEN is not set')
serveStdio(source).then(
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`reeve: ${errorText(error)}\n`)
    process.exit(1)
  },
)
