// OpenCode by ACP. See promises.ts.
import { keepsItsPromises } from './promises.ts'

keepsItsPromises({
  name: 'opencode by ACP', needs: ['opencode'],
  hands: {
    write: (filePath, content) => ({ name: 'write', input: { filePath, content } }),
    shell: (command) => ({ name: 'bash', input: { command, description: 'runs it' } }),
  },
  env: (url) => {
    const provider = { npm: '@ai-sdk/openai-compatible', name: 'local', options: { baseURL: `${url}/v1`, apiKey: 'key-of-the-test' }, models: { served: { name: 'served' } } }
    return { OPENCODE_CONFIG_CONTENT: JSON.stringify({ model: 'local/served', small_model: 'local/served', autoupdate: false, provider: { local: provider } }) }
  },
  body: (intent) => ({ agent: 'opencode', intent, permissions: 'allow' }),
}, { tools: [/^edit$/, /^execute$/], steps: 3, counted: 1, tellsResults: true, isSoftPauseDrained: true })
