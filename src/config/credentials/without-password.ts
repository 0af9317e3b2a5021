// Removes the user name and the password from an address, before it is shown. Test: test/tables/config/edit.test.ts.

/** Returns the address without a user name and a password. A text that is no URL is returned as it is. */
export function withoutPassword(address: string): string {
  const url = URL.parse(address)
  if (url === null || (url.username === '' && url.password === '')) return address
  url.username = ''
  url.password = ''
  return url.href
}
