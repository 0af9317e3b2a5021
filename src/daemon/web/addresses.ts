// The addresses at which the page is open, and the only ones that a request may name. They are those of loopback, the names of proxies of
// the user that end TLS, and the names of a certificate. Nothing but loopback is ever open without TLS.
// Test: test/tables/daemon/web/addresses.test.ts, test/tables/daemon/web/access-check.test.ts.
import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { KernelError } from '../../kernel/model/errors.ts'
import type { WebWay } from '../../kernel/model/words.ts'

/** What belongs to a `Host` that a request may have: its `Origin`, and the way to the page. */
export interface WebAddress {
  readonly origin: string
  readonly way: WebWay
}
export type WebAddresses = ReadonlyMap<string, WebAddress>

/** Where the user wants the page with TLS. */
export interface TlsAddress {
  /** an IP address of this machine */
  readonly address: string
  readonly port: number
  /** absolute paths of PEM files */
  readonly cert: string
  readonly key: string
}

/** A certificate with its key, and the names that it has. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  readonly names: readonly string[]
}

const HTTPS_PORT = 443

/** The addresses of the port on loopback: its own ones, and the names of proxies. */
export function localAddresses(port: number, proxyHosts: readonly string[]): WebAddresses {
  const direct = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`].map((host) => [host, 'http', 'loopback'] as const)
  const proxied = proxyHosts.map((host) => [host, 'https', 'proxy'] as const)
  return new Map([...direct, ...proxied].map(([host, scheme, way]) => [host, { origin: `${scheme}://${host}`, way }]))
}

/** The addresses of a port with TLS: the names of its certificate. A browser leaves out the port of HTTPS. */
export function tlsAddresses(port: number, { names }: Pick<Certificate, 'names'>): WebAddresses {
  const hosts = names.map((name) => (isIP(name) === 6 ? `[${name}]` : name)).map((name) => (port === HTTPS_PORT ? name : `${name}:${port}`))
  return new Map(hosts.map((host) => [host, { origin: `https://${host}`, way: 'tls' as const }]))
}

/**
 * Reads a certificate and its key. Errors: INVALID if a file cannot be used, or if they do not belong together. Also if the certificate
 * has expired or names no host, or if others can read the key. `now`: wall ms.
 */
export async function readCertificate({ cert, key }: Pick<TlsAddress, 'cert' | 'key'>, now: number): Promise<Certificate> {
  const [certText, keyText] = await Promise.all([readPem(cert), readPem(key)])
  if (((await stat(key)).mode & 0o007) !== 0)
    throw new KernelError('INVALID', `other users can read the key in ${key}`, undefined, `Run: chmod 600 ${key}`)
  const { subjectAltName, validTo } = parse(certText, cert)
  if (Date.parse(validTo) < now) throw new KernelError('INVALID', `the certificate in ${cert} expired on ${validTo}`)
  const names = certificateHosts(subjectAltName ?? '')
  if (names.length === 0)
    throw new KernelError(
      'INVALID',
      `the certificate in ${cert} names no host`,
      undefined,
      'It needs a name or an address as its subject alternative name.',
    )
  try {
    createSecureContext({ cert: certText, key: keyText })
  } catch (error) {
    throw new KernelError('INVALID', `the key in ${key} cannot be used with ${cert}: ${(error as Error).message}`)
  }
  return { cert: certText, key: keyText, names }
}

async function readPem(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new KernelError('INVALID', `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function parse(text: Buffer, file: string): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch (error) {
    throw new KernelError('INVALID', `${file} has no certificate: ${(error as Error).message}`)
  }
}

/** The names and addresses of a certificate, from `DNS:box.example, IP Address:10.0.0.1`. A pattern names no host. */
export function certificateHosts(subjectAltName: string): string[] {
  return subjectAltName.split(', ').flatMap((entry) => {
    const [, kind, value = ''] = /^(DNS|IP Address):(.*)$/.exec(entry) ?? []
    if (kind === 'DNS') return /^[\w-]+(\.[\w-]+)*$/.test(value) ? [value.toLowerCase()] : []
    return isIP(value) === 0 ? [] : [isIP(value) === 6 ? shortIpv6(value) : value]
  })
}

/** An IPv6 address as a browser writes it. */
function shortIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}
