import { readFileSync } from 'node:fs'
import type { TextAnswer } from './types.ts'

/** The page for people: what it consists of lies beside this program, also in the image. */
const file = (name: string, type: string): TextAnswer => ({
  text: readFileSync(new URL(`docs/${name}`, import.meta.url), 'utf8'),
  contentType: `${type}; charset=utf-8`,
})

/** Reads the files once; fails when one is missing, so that a broken installation does not start. */
export const readDocsPage = () => ({
  page: file('page.html', 'text/html'),
  style: file('page.css', 'text/css'),
  script: file('page.js', 'text/javascript'),
})
