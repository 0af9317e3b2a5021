// Claude Code, by `-p` with JSON lines and by ACP. See promises.ts.
import type { Kind } from './bench.ts'
import { keepsItsPromises } from './promises.ts'

const CLAUDE: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    write: (file_path, content) => ({ name: 'Write', input: { file_path, content } }),
    shell: (command) => ({ name: 'Bash', input: { command, description: 'runs it' } }),
  },
  env: (url) => ({
    ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'key-of-the-test',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
  }),
}

keepsItsPromises({
  ...CLAUDE, name: 'claude -p', needs: ['claude'],
  body: (prompt) => ({ argv: ['claude', '-p', prompt, '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'] }),
}, { tools: [/^Write$/, /^Bash$/], steps: 3, counted: 3, tellsResults: true, isSoftPauseDrained: false })

keepsItsPromises({
  ...CLAUDE, name: 'claude by ACP', needs: ['claude-acp'],
  body: (intent) => ({ agent: 'claude', intent, permissions: 'allow' }),
}, { tools: [/^Write$/, /^Bash$/], steps: 3, counted: 3, tellsResults: true, isSoftPauseDrained: true })
