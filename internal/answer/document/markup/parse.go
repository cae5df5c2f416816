// Package markup reads HTML of strangers into a small tree, and writes it as Markdown. It takes memory and
// time in proportion to what it reads, whatever that is: a page is not repaired as browsers do it, where
// one tag may make thousands of elements.
package markup

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxTags is how many tags are read. Each takes up to three hundred bytes, with the text behind it.
	maxTags = 100_000
	// maxAttributes is how many attributes are kept besides addresses, maxValue how long each may be, in bytes.
	maxAttributes = 100_000
	maxValue      = 4096
	// maxOpen is how many elements may be open at once. Only the outer maxDepth of them are kept as such:
	// what is in the others belongs to the innermost of those.
	maxOpen  = 512
	maxDepth = 100
)

// ErrBroken is returned for HTML whose elements stand within each other without end.
var ErrBroken = errors.New("the HTML is broken: too many elements are open at once")

// Document is what a page holds, as far as somebody can see it.
type Document struct {
	// Root is the document; Body is in it.
	Root, Body *html.Node
	// Title is the text of the first title.
	Title string
	// Elements is how many elements there are.
	Elements int
	// Cut is set if the page has more tags than are read.
	Cut bool
}

// kind is what decides where an element ends, and what becomes of it; a set of the following.
type kind uint32

const (
	// void elements have no end.
	void kind = 1 << iota
	// unread elements have no text for a reader.
	unread
	// foreign elements are written in another language.
	foreign
	// plain elements look like the text around them.
	plain
	// block elements end a paragraph, and are not ended by the end of an element that is none.
	block
	heading
	paragraph
	link
	list
	item // of a list
	terms
	term // or its description
	table
	section // of a table
	row
	cell
	choice // of what is unread
	option
	bold
	slant
	code
)

var kinds = func() map[atom.Atom]kind {
	all := map[atom.Atom]kind{}
	for k, names := range map[kind][]atom.Atom{
		void: {atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input,
			atom.Link, atom.Meta,
			atom.Param, atom.Source, atom.Track, atom.Wbr},
		unread: {atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Math, atom.Object,
			atom.Embed,
			atom.Select, atom.Button, atom.Input, atom.Textarea, atom.Video, atom.Audio, atom.Canvas, atom.Noframes,
			atom.Noembed,
			atom.Base, atom.Link, atom.Param, atom.Source, atom.Track, atom.Area, atom.Col, atom.Colgroup, atom.Frame,
			atom.Wbr},
		foreign: {atom.Svg, atom.Math},
		plain: {atom.Html, atom.Head, atom.Body, atom.Frameset, atom.Font, atom.Big, atom.Small, atom.U, atom.S,
			atom.Strike,
			atom.Nobr},
		block: {atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Details, atom.Dialog,
			atom.Dd, atom.Div,
			atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
			atom.H3,
			atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Li, atom.Main, atom.Menu, atom.Nav,
			atom.Ol, atom.P,
			atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Ul},
		heading:   {atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6},
		paragraph: {atom.P},
		link:      {atom.A},
		list:      {atom.Ul, atom.Ol, atom.Menu},
		item:      {atom.Li},
		terms:     {atom.Dl},
		term:      {atom.Dd, atom.Dt},
		table:     {atom.Table},
		section:   {atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption},
		row:       {atom.Tr},
		cell:      {atom.Td, atom.Th},
		choice:    {atom.Select},
		option:    {atom.Option, atom.Optgroup},
		bold:      {atom.B, atom.Strong},
		slant:     {atom.I, atom.Em},
		code:      {atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Var},
	} {
		for _, name := range names {
			all[name] |= k
		}
	}
	return all
}()

// keptAttributes are the attributes that somebody reads: this program, or the search for a page's article.
var keptAttributes = []string{"href", "alt", "class", "id", "role", "rel", "itemprop", "name", "property", "content",
	"lang", "aria-modal"}

// element is an element that is open.
type element struct {
	name string
	kind kind
	// within is what kinds it and the elements around it are.
	within kind
	// into is where its content goes; nil if nobody sees it.
	into *html.Node
	// depth counts the elements around it that are kept as such.
	depth int
}

type builder struct {
	tags       *html.Tokenizer
	doc        Document
	head       *html.Node
	open       []element
	attributes int
}

// Parse reads a page. It returns ErrBroken if no sense can be made of it.
func Parse(source string) (Document, error) {
	b := &builder{tags: html.NewTokenizer(strings.NewReader(source))}
	root := &html.Node{Type: html.DocumentNode}
	whole := appended(root, atom.Html)
	b.head = appended(whole, atom.Head)
	b.doc.Root, b.doc.Body = root, appended(whole, atom.Body)
	b.open = []element{{name: "body", into: b.doc.Body}}
	for read := 0; ; {
		kind := b.tags.Next()
		switch kind {
		case html.ErrorToken: // the end: a string gives no other error
			return b.doc, nil
		case html.TextToken:
			b.text()
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := b.tags.TagName()
			b.end(string(name), atom.Lookup(name))
		default:
			continue
		}
		if read++; read >= maxTags {
			b.doc.Cut = b.tags.Next() != html.ErrorToken
			return b.doc, nil
		}
		if len(b.open) > maxOpen {
			return Document{}, ErrBroken
		}
	}
}

func appended(to *html.Node, a atom.Atom) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: a.String(), DataAtom: a}
	to.AppendChild(n)
	return n
}

func (b *builder) top() element { return b.open[len(b.open)-1] }

func (b *builder) text() {
	into := b.top().into
	if into == nil {
		return
	}
	text := string(b.tags.Text())
	if into.DataAtom == atom.Title {
		b.doc.Title += text // of the first title, which is one token
	}
	into.AppendChild(&html.Node{Type: html.TextNode, Data: text})
}

// start opens an element, after those that cannot hold it have ended.
func (b *builder) start(selfClosing bool) {
	tag, more := b.tags.TagName()
	name, a := string(tag), atom.Lookup(tag)
	k := kinds[a]
	b.endImplied(k)
	around := b.top()
	e := element{name: name, kind: k, within: around.within | k, into: around.into, depth: around.depth}
	if e.within&foreign != 0 {
		b.tags.NextIsNotRawText()
	}
	switch repeated := around.within & k & (bold | slant | code); {
	case e.into == nil:
	case k&unread != 0:
		e.into = nil
	case a == atom.Title:
		if e.into = nil; b.doc.Title == "" {
			e.into = appended(b.head, a)
		}
	case a == atom.Meta:
		b.attributesOf(appended(b.head, a), more)
	case k&plain != 0, repeated != 0, e.depth >= maxDepth && k&void == 0:
		if b.attributesOf(nil, more) {
			e.into = nil
		}
	default:
		n := &html.Node{Type: html.ElementNode, Data: name, DataAtom: a}
		switch hidden := b.attributesOf(n, more); {
		case hidden:
			e.into = nil
		case a == atom.Img:
			e.into.AppendChild(&html.Node{Type: html.TextNode, Data: Attribute(n, "alt")})
		default:
			e.into.AppendChild(n)
			e.into, e.depth = n, e.depth+1
			b.doc.Elements++
		}
	}
	if k&void == 0 && !(selfClosing && e.within&foreign != 0) {
		b.open = append(b.open, e)
	}
}

// attributesOf gives an element the attributes that somebody reads. n may be nil. It reports whether
// they hide the element.
func (b *builder) attributesOf(n *html.Node, more bool) (hidden bool) {
	for more {
		var k, v []byte
		k, v, more = b.tags.TagAttr()
		key := string(k)
		switch {
		case key == "hidden":
			hidden = true
		case key == "style":
			style := strings.ToLower(strings.Join(strings.Fields(string(v[:min(len(v), maxValue)])), ""))
			hidden = hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		case n == nil || len(v) == 0 || len(v) > maxValue || !slices.Contains(keptAttributes, key):
		case slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key }):
		case key == "href" || b.attributes < maxAttributes:
			b.attributes++
			n.Attr = append(n.Attr, html.Attribute{Key: key, Val: string(v)})
		}
	}
	return hidden
}

// endImplied ends what ends where an element begins.
func (b *builder) endImplied(k kind) {
	switch {
	case k&item != 0:
		b.endUpTo(item, list|cell)
	case k&term != 0:
		b.endUpTo(term, terms|cell)
	case k&cell != 0:
		b.endUpTo(cell, row|table)
	case k&row != 0:
		b.endUpTo(row, table)
	case k&section != 0:
		b.endUpTo(section|row, table)
	case k&heading != 0 && b.top().kind&heading != 0:
		b.open = b.open[:len(b.open)-1]
	case k&link != 0:
		b.endUpTo(link, block|cell)
	case k&option != 0:
		b.endUpTo(option, choice)
	}
	if k&block != 0 {
		b.endUpTo(paragraph, table|cell)
	}
}

// endUpTo ends the innermost element of a kind with all that is in it, unless it is around a bound.
func (b *builder) endUpTo(wanted, bound kind) {
	for i := len(b.open) - 1; i > 0 && b.open[i].kind&bound == 0; i-- {
		if b.open[i].kind&wanted != 0 {
			b.open = b.open[:i]
			return
		}
	}
}

// end ends the innermost element of a name with all that is in it, unless it is around a bound. One that is
// not open is left alone.
func (b *builder) end(name string, a atom.Atom) {
	k := kinds[a]
	if into := b.top().into; a == atom.Br && into != nil { // as browsers read it
		appended(into, atom.Br)
	}
	bound := block | cell
	switch {
	case k&table != 0:
		bound = 0
	case k&(section|row|cell) != 0:
		bound = table
	case k&(block|unread) != 0:
		bound = table | cell
	}
	for i := len(b.open) - 1; i > 0; i-- {
		switch e := b.open[i]; {
		case e.name == name, k&heading != 0 && e.kind&heading != 0:
			b.open = b.open[:i]
			return
		case e.kind&bound != 0 && e.kind&paragraph == 0:
			return
		}
	}
}

// Attribute is the value of an attribute; empty if the element lacks it.
func Attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// Text is all text in an element.
func Text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
