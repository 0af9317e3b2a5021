// The text that the daemon signs to prove that it knows a session of the page. The page verifies the proof before it sends its token. The
// text contains the address, so that a program at another address cannot pass on the daemon's answer.
// Must import nothing: the page includes this file, too. Test: test/tables/daemon/web/hello.test.ts.

/** The pattern of a nonce: at least 128 random bits, as base64url. */
export const NONCE_PATTERN = /^[\w-]{22,86}$/

/** Returns the text that the MAC covers. `host`: the address of the page with its port, as in `location.host`. */
export function helloText(host: string, nonce: string): string {
  return `reeve-hello-1\n${host}\n${nonce}`
}
