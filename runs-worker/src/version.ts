/** What the health routes report; a test keeps it equal to the room's package.json, which a bundle does not carry. */
export const VERSION = '0.1.0'
