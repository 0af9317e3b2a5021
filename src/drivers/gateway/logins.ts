// Finds how a user authorizes an external agent to call its models: by a login command, or by a key. Also has the advice for an agent that
// is not logged in. Pure. Test: test/tables/drivers/gateway/logins.test.ts.
import { findProgram } from '../command/formats/args.ts'
import { KNOWN_CLIENTS } from './known-clients.ts'
import type { Login } from './clients/client.ts'

/** Matches the error messages of agents that are not logged in. */
const NOT_LOGGED_IN = /\bnot logged in\b|authentication required|please run \/login|missing bearer/i

/** The login of the agent in a command; null for an unknown program. */
export function loginOf(argv: readonly string[]): Login | null {
  return KNOWN_CLIENTS.find(({ names }) => findProgram(argv, names) >= 0)?.login ?? null
}

/** Advice for the user: a sentence without its full stop. */
export function loginAdvice(login: Login | null): string {
  if (login === null) return "Log in with the agent's own command line, or set its key in the environment"
  return `Log in with \`${login.command}\`, or set ${login.key ?? "the key of its model's provider"} in the environment`
}

/** Appends the login advice to an error of the agent with this title, if the error is that the agent is not logged in. */
export function withLoginAdvice(error: string, title: string): string {
  const login = KNOWN_CLIENTS.find((client) => client.title === title)?.login
  return login && NOT_LOGGED_IN.test(error) ? `${error}. ${loginAdvice(login)}` : error
}
