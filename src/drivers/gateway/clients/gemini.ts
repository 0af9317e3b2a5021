// The adapter for Gemini CLI, run by ACP or with `-p`. With the gateway's address, `-p` works only if the settings
// select a login method. The method that the agent chooses on its own works only with ACP.
// Test: test/tables/drivers/gateway/clients.test.ts.
import { join } from 'node:path'
import { hasFlag } from '../../command/formats/args.ts'
import { GEMINI_OPTIONS } from '../../command/formats/gemini.ts'
import { firstSetVariable, homeOf, parseObject, asObject, asString } from './client.ts'
import type { ProviderUse, ClientAdapter, AgentSetup } from './client.ts'

const KEY_METHOD = 'gemini-api-key'

export const gemini: ClientAdapter = {
  title: 'Gemini CLI',
  names: ['gemini', '@google/gemini-cli'],
  options: GEMINI_OPTIONS,
  login: { command: 'gemini', key: 'GEMINI_API_KEY' },
  providerUse: findProviderUse,
  configure: ({ url, token }) => ({ env: { GOOGLE_GEMINI_BASE_URL: url('google') ?? '', GEMINI_API_KEY: token } }),
}

function findProviderUse(setup: AgentSetup): ProviderUse {
  const userSettings = join(setup.env['GEMINI_CLI_HOME'] ?? homeOf(setup), '.gemini/settings.json')
  const method = loginMethodIn(setup, join(setup.cwd, '.gemini/settings.json')) || loginMethodIn(setup, userSettings)
  return {
    providers: ['google'],
    bypass: bypassReason(setup, method, userSettings),
    login: method === '' || method === KEY_METHOD ? undefined : `its settings select the login method ${method}`,
  }
}

/** Why Gemini CLI cannot use the gateway, as text for the user; undefined if it can. */
function bypassReason({ env, command }: AgentSetup, method: string, userSettings: string): string | undefined {
  const serviceVariable = firstSetVariable(env, ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'])
  if (serviceVariable !== undefined) return `${serviceVariable} is set: it calls its models through another service`
  if (method !== '' || hasFlag(command, '--acp', '--experimental-acp')) return undefined
  return `it accepts another address only if ${userSettings} contains {"security":{"auth":{"selectedType":"${KEY_METHOD}"}}}`
}

/** The login method that a settings file selects; '' if it selects none. */
function loginMethodIn({ read }: AgentSetup, path: string): string {
  return asString(asObject(asObject(parseObject(read(path))['security'])['auth'])['selectedType'])
}
