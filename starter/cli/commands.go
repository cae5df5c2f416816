package cli

// configTag is the tag of a command that is not to have the configuration read for it: config:"none".
const configTag = "config"

// commands is the command line.
type commands struct {
	Config string `default:"config.yaml" placeholder:"FILE" help:"The configuration (${default})."`

	Serve serveCommand `cmd:"" config:"none" default:"1" help:"Receive Slack's events and relay them to conversations. This is the default."`

	Conversations conversationsCommand `cmd:"" help:"List the open conversations with their phases, and when they are due."`
	Show          showCommand          `cmd:"" help:"Show the state of a conversation."`
	AnswerNow     answerNowCommand     `cmd:"" help:"Have the bot answer now what is waiting in a conversation."`
	Drop          dropCommand          `cmd:"" help:"Drop what is waiting in a conversation, or in all."`
	Snooze        snoozeCommand        `cmd:"" help:"Silence the bot in a conversation for a while."`
	Mute          muteCommand          `cmd:"" help:"Silence the bot in a conversation, or everywhere, until it is unmuted."`
	Unmute        unmuteCommand        `cmd:"" help:"End a mute or a snooze."`

	Rehear  rehearCommand  `cmd:"" help:"Hand messages to their conversations again about which nothing was decided, as after these were terminated."`
	Retract retractCommand `cmd:"" help:"Delete in Slack what the bot said."`

	Prompt    promptCommand    `cmd:"" help:"Print what a model would be sent and, with --ask, what it answers. Nothing is posted."`
	Why       whyCommand       `cmd:"" help:"Show the messages of a conversation, the decisions with their reasons, their cost and their outcome."`
	Channels  channelsCommand  `cmd:"" help:"List the channels with their budgets, or show where each setting of a channel comes from."`
	Channel   channelCommand   `cmd:"" help:"Delete what the database holds of a channel."`
	Usage     usageCommand     `cmd:"" help:"Sum up model calls, tokens and cost."`
	Memory    memoryCommand    `cmd:"" help:"Show, correct, roll back or forget memories."`
	Person    personCommand    `cmd:"" help:"Export or delete what the database holds of a person."`
	Notes     notesCommand     `cmd:"" help:"List what people asked the bot to remember in a channel, or take it back."`
	Proposals proposalsCommand `cmd:"" help:"List what the bot proposes to do, or decide that it is not done."`
	Promises  promisesCommand  `cmd:"" help:"List what the bot has promised, cancel it, or move it to another time."`
	Tools     toolsCommand     `cmd:"" help:"List the tools of MCP servers, allow those that have changed, or call one."`
	Eval      evalCommand      `cmd:"" help:"Measure how well a model judges when to speak, with labelled conversations."`
	Label     labelCommand     `cmd:"" help:"Show how far hindsight can be believed, or label decisions yourself: whether the bot should have spoken."`
	Tune      tuneCommand      `cmd:"" help:"Find the min_confidence by which errors would have cost least. Nothing is changed."`
	Shadow    shadowCommand    `cmd:"" help:"Compare other judges with the one that decides: agreement, disagreements with their reasons, and cost."`

	Workspaces workspacesCommand `cmd:"" help:"List the workspaces and organisations that have installed the app, let others install it, or remove one."`

	Init     initCommand     `cmd:"" config:"none" help:"Ask what a new installation needs, check it, and write config.yaml, .env and the Slack app's manifest."`
	Doctor   doctorCommand   `cmd:"" help:"Check everything that the bot needs, and say how to fix what is wrong. Nothing is changed."`
	Migrate  migrateCommand  `cmd:"" help:"Bring the tables of the database up to date."`
	Manifest manifestCommand `cmd:"" help:"Print the manifest of the Slack app that the configuration needs."`
	Codec    codecCommand    `cmd:"" help:"Run the codec server, which decrypts payloads for Temporal's Web UI and CLI."`
	Health   healthCommand   `cmd:"" config:"none" help:"Ask a starter or a worker whether it is ready. Needs no configuration."`

	Completion    completionCommand `cmd:"" config:"none" help:"Print a script that completes this command line in bash, zsh or fish. Needs no configuration."`
	Configuration configCommand     `cmd:"" name:"config" help:"Print what a configuration may say."`
	Version       versionCommand    `cmd:"" config:"none" help:"Print the version. Needs no configuration."`
}

// configCommand tells of the configuration.
type configCommand struct {
	Schema configSchema `cmd:"" config:"none" help:"Print a JSON Schema by which editors complete and check it. Needs no configuration."`
}

// channelCommand changes what is stored of a channel. channels lists them.
type channelCommand struct {
	Purge channelPurge `cmd:"" help:"Delete everything that the database holds of a channel."`
}

// evalCommand measures how well a model judges.
type evalCommand struct {
	Run          evalRun     `cmd:"" config:"none" help:"Judge labelled conversations with a model, and say how often it is right. Nothing is posted."`
	Compare      evalCompare `cmd:"" config:"none" help:"Compare two runs over the same cases, answer by answer."`
	Recall       evalRecall  `cmd:"" config:"none" help:"Measure how much of what was said is found again for a question, without a model."`
	Report       evalReport  `cmd:"" config:"none" help:"Write the report of a run as a web page or as Markdown."`
	Check        evalCheck   `cmd:"" config:"none" help:"Find what is wrong in case files."`
	ExportLedger evalExport  `cmd:"" help:"Write the workspace's own labelled decisions as cases, without names."`
}

// memoryCommand shows and changes memories.
type memoryCommand struct {
	List     memoryList     `cmd:"" help:"List memories: of the workspace and its channels, or of a channel and its threads."`
	Show     memoryShow     `cmd:"" help:"Print a memory and its sources."`
	History  memoryHistory  `cmd:"" help:"List the versions of a memory."`
	Correct  memoryCorrect  `cmd:"" help:"Replace a memory with your own text."`
	Rollback memoryRollback `cmd:"" help:"Bring back an old version of a memory."`
	Forget   memoryForget   `cmd:"" help:"Delete memories for good."`
}

// notesCommand shows notes and takes them back.
type notesCommand struct {
	List   notesList   `cmd:"" help:"List what people asked the bot to remember in a channel."`
	Forget notesForget `cmd:"" help:"Take a note back."`
}

// personCommand shows and deletes what is stored of a person.
type personCommand struct {
	Export personExport `cmd:"" help:"Print everything that the database holds of a person, as JSON."`
	Forget personForget `cmd:"" help:"Take a person out of the database for good."`
}

// promisesCommand shows what the bot has promised, ends it, and moves it.
type promisesCommand struct {
	List   promisesList   `cmd:"" help:"List what the bot has promised and not kept yet, those due first coming first."`
	Cancel promisesCancel `cmd:"" help:"Cancel a promise. One that repeats ends."`
	Move   promisesMove   `cmd:"" help:"Make a promise due at another time. Of one that repeats, only the next time moves."`
}

// proposalsCommand shows what the bot proposes to do, and ends it.
type proposalsCommand struct {
	List    proposalsList    `cmd:"" help:"List what the bot proposes to do and nobody has decided about, or is being done."`
	Decline proposalsDecline `cmd:"" help:"Decide that a proposal is not carried out."`
}

// toolsCommand shows the tools of MCP servers, and decides about them.
type toolsCommand struct {
	List  toolsList  `cmd:"" help:"Ask the MCP servers for their tools, and list what becomes of each."`
	Allow toolsAllow `cmd:"" help:"Allow the tools of a server as they are now, also where they have changed."`
	Call  toolsCall  `cmd:"" help:"Call a tool of a server yourself."`
}

// workspacesCommand shows who has installed the app, and decides who may. Each needs slack.client_id.
type workspacesCommand struct {
	List     workspacesList     `cmd:"" help:"List the workspaces and organisations that have installed the app, or were allowed to."`
	Show     workspacesShow     `cmd:"" help:"Show an installation."`
	Allow    workspacesAllow    `cmd:"" help:"Let a workspace or an organisation install the app."`
	Disallow workspacesDisallow `cmd:"" help:"Take that back. What is installed stays."`
	Remove   workspacesRemove   `cmd:"" help:"End the work for a workspace or an organisation, and delete what is stored of it."`
	Reseal   workspacesReseal   `cmd:"" help:"Encrypt every token with encryption.active_key, before an old key is taken away."`
	URL      workspacesURL      `cmd:"" name:"url" help:"Print the address at which people install the app."`
}
