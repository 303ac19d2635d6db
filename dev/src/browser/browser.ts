import { type BrowserContextOptions, type Browser as Chromium, chromium, type Page } from 'playwright-core'
import { HOW_TO_GET_CHROMIUM, readBrowserConfig } from './config.ts'

/** A page, and all that should not have happened on it. */
export type WatchedPage = {
  readonly page: Page
  /** Errors of the console and of scripts, what the policy has refused, requests that failed or left the origin. */
  readonly troubles: readonly string[]
  /** Paths that were asked for, in order. */
  readonly requests: readonly string[]
  readonly close: () => Promise<void>
}
export type Browser = {
  /** An empty page of a profile of its own. */
  readonly open: (options?: BrowserContextOptions) => Promise<WatchedPage>
  readonly close: () => Promise<void>
}

/** Whether there is a browser to look with; where there has to be one, its absence is an error. */
export function hasBrowser(): boolean {
  const { chromium, required } = readBrowserConfig()
  if (chromium !== undefined) return true
  if (required) throw new Error(HOW_TO_GET_CHROMIUM)
  return false
}

/**
 * A real Chromium that sees `origin`, whatever its host is called, at `address` (host and port), and reaches nothing else.
 */
export async function startBrowser(origin: string, address: string): Promise<Browser> {
  const { chromium: executablePath } = readBrowserConfig()
  if (executablePath === undefined) throw new Error(HOW_TO_GET_CHROMIUM)
  const browser = await chromium.launch({
    executablePath,
    args: [`--host-resolver-rules=MAP ${new URL(origin).host} ${address}, MAP * ~NOTFOUND`],
  })
  return { open: (options) => open(browser, origin, options), close: () => browser.close() }
}

const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  reportViolation(event.violatedDirective + ' ' + event.blockedURI))`

async function open(
  browser: Chromium,
  origin: string,
  options?: BrowserContextOptions,
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: origin, ...options })
  const page = await context.newPage()
  const troubles: string[] = []
  const requests: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      troubles.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => troubles.push(`script: ${error.message}`))
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`))
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin === origin) requests.push(url.pathname)
    else troubles.push(`left the origin: ${url.href}`)
  })
  await context.exposeFunction('reportViolation', (text: string) => void troubles.push(`policy: ${text}`))
  await context.addInitScript({ content: REPORT_VIOLATIONS })
  return { page, troubles, requests, close: () => context.close() }
}
