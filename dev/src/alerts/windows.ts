import { outsider, user } from './cast.ts'
import type { Kind, Scene } from './scene.ts'

function windowsEvent(scene: Scene, eventID: string, channel: string, message: string, eventdata: object) {
  const { random, agent, at } = scene
  const system = {
    eventID,
    channel,
    computer: `${agent.name}.corp.example`,
    eventRecordID: String(random.whole(10_000, 900_000)),
    providerName: channel === 'Security' ? 'Microsoft-Windows-Security-Auditing' : channel,
    systemTime: at.toISOString(),
  }
  const win = { system: { ...system, message }, eventdata }
  return { full_log: JSON.stringify({ win }), data: { win } }
}

const windows = (rule: Kind['rule'], weight: number, find: Kind['find']): Kind => ({
  weight,
  os: 'windows',
  decoder: 'windows_eventchannel',
  location: 'EventChannel',
  rule: { ...rule, groups: ['windows', ...rule.groups] },
  find,
})

const processStart = (scene: Scene, image: string, commandLine: string, parent: string) =>
  windowsEvent(scene, '1', 'Microsoft-Windows-Sysmon/Operational', 'A process was created', {
    image,
    commandLine,
    parentImage: parent,
    user: `CORP\\${user(scene.random)}`,
    processId: String(scene.random.whole(500, 9_000)),
    hashes: `SHA256=${scene.random.hex(64).toUpperCase()}`,
  })

const SYSTEM32 = 'C:\\Windows\\System32'

export const WINDOWS_KINDS: readonly Kind[] = [
  windows(
    {
      id: '100310',
      level: 5,
      description: 'A logon failed',
      groups: ['windows_security', 'authentication_failed'],
      mitre: {
        id: ['T1110'],
        tactic: ['Credential Access'],
        technique: ['Brute Force'],
      },
    },
    6,
    (scene) =>
      windowsEvent(scene, '4625', 'Security', 'An account failed to log on.', {
        targetUserName: user(scene.random),
        ipAddress: outsider(scene.random),
        logonType: '3',
        status: '0xc000006d',
      }),
  ),
  windows(
    {
      id: '100311',
      level: 3,
      description: 'A logon succeeded',
      groups: ['windows_security', 'authentication_success'],
    },
    6,
    (scene) =>
      windowsEvent(scene, '4624', 'Security', 'An account was successfully logged on.', {
        targetUserName: user(scene.random),
        ipAddress: '192.0.2.51',
        logonType: '2',
      }),
  ),
  windows(
    {
      id: '100312',
      level: 12,
      description: 'A user became a member of the domain administrators',
      groups: ['windows_security', 'group_changed'],
      mitre: { id: ['T1098'], tactic: ['Persistence'], technique: ['Account Manipulation'] },
    },
    1,
    (scene) =>
      windowsEvent(scene, '4728', 'Security', 'A member was added to a global group.', {
        memberName: user(scene.random),
        targetUserName: 'Domain Admins',
        subjectUserName: 'bruno',
      }),
  ),
  windows(
    {
      id: '100313',
      level: 12,
      description: 'PowerShell was started with a hidden, encoded command',
      groups: ['sysmon', 'sysmon_event1', 'powershell'],
      mitre: {
        id: ['T1059.001', 'T1027'],
        tactic: ['Execution', 'Defense Evasion'],
        technique: ['PowerShell', 'Obfuscated Files or Information'],
      },
    },
    2,
    (scene) =>
      processStart(
        scene,
        `${SYSTEM32}\\WindowsPowerShell\\v1.0\\powershell.exe`,
        `powershell.exe -nop -w hidden -enc ${Buffer.from(`Get-Item ${scene.random.hex(12)}`, 'utf16le').toString('base64')}`,
        'C:\\Program Files\\Office\\winword.exe',
      ),
  ),
  windows(
    {
      id: '100314',
      level: 15,
      description: 'The memory of the process that keeps the credentials was read',
      groups: ['sysmon', 'sysmon_event1', 'attack'],
      mitre: { id: ['T1003.001'], tactic: ['Credential Access'], technique: ['LSASS Memory'] },
    },
    1,
    (scene) =>
      processStart(
        scene,
        `${SYSTEM32}\\rundll32.exe`,
        'rundll32.exe comsvcs.dll, MiniDump 652 C:\\Temp\\out.dmp full',
        `${SYSTEM32}\\cmd.exe`,
      ),
  ),
  windows(
    {
      id: '100315',
      level: 9,
      description: 'The security log was cleared',
      groups: ['windows_security', 'log_clearing'],
      mitre: {
        id: ['T1070.001'],
        tactic: ['Defense Evasion'],
        technique: ['Clear Windows Event Logs'],
      },
    },
    1,
    (scene) =>
      windowsEvent(scene, '1102', 'Security', 'The audit log was cleared.', {
        subjectUserName: user(scene.random),
      }),
  ),
  windows(
    {
      id: '100316',
      level: 4,
      description: 'A service was installed',
      groups: ['windows_system'],
      mitre: {
        id: ['T1543.003'],
        tactic: ['Persistence', 'Privilege Escalation'],
        technique: ['Windows Service'],
      },
    },
    2,
    (scene) =>
      windowsEvent(scene, '7045', 'System', 'A service was installed in the system.', {
        serviceName: scene.random.pick(['PrintHelper', 'UpdateAgent']),
        imagePath: `C:\\ProgramData\\${scene.random.hex(6)}.exe`,
      }),
  ),
]
