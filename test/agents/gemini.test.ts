// Gemini CLI by ACP. See promises.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepsItsPromises } from './promises.ts'

keepsItsPromises({
  name: 'gemini by ACP', needs: ['gemini'],
  hands: {
    write: (file_path, content) => ({ name: 'write_file', input: { file_path, content } }),
    shell: (command) => ({ name: 'run_shell_command', input: { command, description: 'runs it' } }),
  },
  env: (url, home) => {
    mkdirSync(join(home, '.gemini'))
    writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      general: { disableAutoUpdate: true, disableUpdateNag: true }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
    }))
    return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'key-of-the-test', GEMINI_CLI_NO_RELAUNCH: 'true' }
  },
  body: (intent) => ({ agent: 'gemini', intent, permissions: 'allow' }),
}, { resumeError: /No previous sessions found/, tools: [/^edit$/, /^execute$/], steps: 3, counted: 3, tellsResults: false, isSoftPauseDrained: true })
