// Codex, by `exec --json` and by ACP. See promises.ts. Its file edits are calls of its shell that it takes as patches.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServedTool } from '../support/model-server.ts'
import type { Kind } from './bench.ts'
import { keepsItsPromises } from './promises.ts'

const shell = (cmd: string): ServedTool => ({ name: 'exec_command', input: { cmd } })

const CODEX: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    shell,
    write: (file, content) => shell(['apply_patch <<\'EOF\'', '*** Begin Patch', `*** Add File: ${file.split('/').at(-1) ?? file}`, `+${content.trimEnd()}`, '*** End Patch', 'EOF'].join('\n')),
  },
  env: (url, home) => {
    const folder = join(home, 'codex')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'config.toml'), [
      'model = "served"', 'model_provider = "local"', 'approval_policy = "never"', 'sandbox_mode = "danger-full-access"',
      '[analytics]', 'enabled = false',
      '[model_providers.local]', 'name = "local"', `base_url = "${url}/v1"`, 'env_key = "OPENAI_API_KEY"', 'wire_api = "responses"', '',
    ].join('\n'))
    return { CODEX_HOME: folder, OPENAI_API_KEY: 'key-of-the-test' }
  },
}

keepsItsPromises({
  ...CODEX, name: 'codex exec', needs: ['codex'],
  body: (prompt) => ({ argv: ['codex', 'exec', '--json', '--skip-git-repo-check', prompt] }),
}, { tools: [/^file_change$/, /^shell$/], steps: 3, counted: 3, tellsResults: true, isSoftPauseDrained: false })

keepsItsPromises({
  ...CODEX, name: 'codex by ACP', needs: ['codex-acp'],
  body: (intent) => ({ agent: 'codex', intent, permissions: 'allow' }),
}, { tools: [/^edit$/, /^exec_command$/], steps: 3, counted: 3, tellsResults: true, isSoftPauseDrained: true })
