// The addresses at which the page is open: those of loopback, the names of proxies, and the names of a certificate.
import { expect, test } from 'vitest'
import { localAddresses, certificateHosts, tlsAddresses } from '../../../../src/daemon/web/addresses.ts'

test('loopback has three names with its port, and a proxy exactly its own', () => {
  expect([...localAddresses(7338, ['box.example', 'box.example:8443'])]).toEqual([
    ['127.0.0.1:7338', { origin: 'http://127.0.0.1:7338', way: 'loopback' }],
    ['localhost:7338', { origin: 'http://localhost:7338', way: 'loopback' }],
    ['[::1]:7338', { origin: 'http://[::1]:7338', way: 'loopback' }],
    ['box.example', { origin: 'https://box.example', way: 'proxy' }],
    ['box.example:8443', { origin: 'https://box.example:8443', way: 'proxy' }],
  ])
})

test.each([
  [7443, ['box.example', '10.0.0.1', 'fd7a::1'], ['box.example:7443', '10.0.0.1:7443', '[fd7a::1]:7443']],
  [443, ['box.example', 'fd7a::1'], ['box.example', '[fd7a::1]']],
])('with TLS on port %s and the names %j, the page is open at %j', (port, names, hosts) => {
  expect([...tlsAddresses(port, { names })].map(([host, { origin, way }]) => [host, origin, way])).toEqual(
    hosts.map((host) => [host, `https://${host}`, 'tls']),
  )
})

test.each([
  ['DNS:box.example, IP Address:10.0.0.1', ['box.example', '10.0.0.1']],
  ['DNS:Box.Example', ['box.example']],
  ['IP Address:FD7A:0:0:0:0:0:0:1', ['fd7a::1']],
  ['DNS:*.example, email:a@box.example, URI:https://box.example', []],
  ['DNS:"a, DNS:b"', []],
  ['', []],
])('a certificate with %j names %j', (text, names) => {
  expect(certificateHosts(text)).toEqual(names)
})
