export { type Browser, hasBrowser, startBrowser, type WatchedPage } from './browser.ts'
export { HOW_TO_GET_CHROMIUM, readBrowserConfig } from './config.ts'
