/**
 * An ESLint rule: texts for users are string literals in calls of `trans`, where tools that collect
 * strings for translation find them.
 *
 * A rule cannot know what is shown. These count as visible:
 * - a literal of several words, or a capitalized word, anywhere;
 * - a literal with letters that is the text of an element, command, button or notification.
 *
 * Texts for developers do not count: errors, the console, descriptions of plugins and tokens.
 */

/** The methods of a `TranslationBundle`, and the number of first arguments that are messages. */
const TRANSLATE = new Map([
  ['__', 1],
  ['gettext', 1],
  ['_n', 2],
  ['ngettext', 2],
  ['_p', 2],
  ['pgettext', 2],
  ['_np', 3],
  ['npgettext', 3]
]);

/** Properties of elements, titles, commands, buttons and dialogs that are texts. */
const TEXT_PROPERTIES = new Set([
  'ariaLabel',
  'aria-label',
  'body',
  'caption',
  'innerText',
  'label',
  'message',
  'placeholder',
  'textContent',
  'title'
]);

/** Attributes that are texts. */
const TEXT_ATTRIBUTES = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'aria-valuetext',
  'placeholder',
  'title'
]);

/** Functions that show arguments, with the positions of these arguments. */
const SHOWN_ARGUMENTS = new Map([
  ['append', [0, 1, 2, 3]],
  ['makeButton', [0]],
  ['makeDecisionButton', [0, 1]],
  ['makeIconButton', [1]],
  ['makeElement', [2]],
  ['prepend', [0, 1]],
  ['replaceChildren', [0, 1]],
  ['showText', [1]]
]);

/** Properties whose values are names for programs, however they look. */
const NAME_PROPERTIES = new Set(['description', 'factory', 'id', 'name', 'role', 'type']);

const WORD = /^[("“‘']*\p{L}[\p{L}’']+[)"”’'.,:;!?…]*$/u;
const CAPITALIZED = /^\p{Lu}\p{Ll}+…?$/u;

/** Return whether a text reads like words and not like class names, markup or an address. */
function isProse(text) {
  const tokens = text.split(/\s+/).filter(token => token !== '');
  return /\s/.test(text) && tokens.some(token => WORD.test(token));
}

/** Return the name of the function or method that a call calls. */
function getCallName({ callee }) {
  return callee.type === 'MemberExpression' ? callee.property.name : callee.name;
}

/** Return the chunks of text in a string literal or a template. */
function listChunks(node) {
  return node.type === 'Literal' ? [node.value] : node.quasis.map(({ value }) => value.cooked);
}

/** Return whether a node is only for programs or developers, according to its ancestors. */
function isInternal(node) {
  for (let child = node, { parent } = node; parent; child = parent, { parent } = parent) {
    switch (parent.type) {
      case 'ImportDeclaration':
      case 'ImportExpression':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration':
        return parent.source === child;
      case 'TSLiteralType':
        return true;
      case 'BinaryExpression':
        return ['===', '!==', '==', '!=', 'in'].includes(parent.operator);
      case 'SwitchCase':
        return parent.test === child;
      case 'MemberExpression':
        return parent.property === child;
      case 'Property':
        if (parent.key === child || NAME_PROPERTIES.has(parent.key.name ?? parent.key.value)) {
          return true;
        }
        break;
      case 'NewExpression':
        return ['Error', 'Token'].includes(parent.callee.name);
      case 'CallExpression': {
        const count = TRANSLATE.get(getCallName(parent));
        if (count !== undefined) {
          return parent.arguments.indexOf(child) < count;
        }
        return parent.callee.object?.name === 'console';
      }
      case 'BlockStatement':
      case 'ClassBody':
        return false;
    }
  }
  return false;
}

/** Return whether a node, or a value that it may have, is a text that is shown. */
function isShown(node) {
  for (let child = node, { parent } = node; parent; child = parent, { parent } = parent) {
    switch (parent.type) {
      case 'ConditionalExpression':
        if (parent.test === child) {
          return false;
        }
        break;
      case 'LogicalExpression':
      case 'TSAsExpression':
        break;
      case 'BinaryExpression':
        if (parent.operator !== '+') {
          return false;
        }
        break;
      case 'AssignmentExpression':
        return parent.right === child && TEXT_PROPERTIES.has(parent.left.property?.name);
      case 'Property':
        return parent.value === child && TEXT_PROPERTIES.has(parent.key.name ?? parent.key.value);
      case 'CallExpression': {
        const name = getCallName(parent);
        const position = parent.arguments.indexOf(child);
        if (name === 'setAttribute') {
          return position === 1 && TEXT_ATTRIBUTES.has(parent.arguments[0].value);
        }
        const isNotification = parent.callee.object?.name === 'Notification';
        return isNotification
          ? position === 0 && name !== 'dismiss'
          : (SHOWN_ARGUMENTS.get(name)?.includes(position) ?? false);
      }
      default:
        return false;
    }
  }
  return false;
}

export const visibleText = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      untranslated: 'Found a text for users that cannot be translated. Pass it to `trans.__`.',
      computed:
        'Found a message that is not a string literal, which tools that collect strings for ' +
        'translation do not find. Write each message as a literal in a call of its own.'
    }
  },
  create(context) {
    const check = node => {
      const chunks = listChunks(node);
      const isText =
        chunks.some(isProse) ||
        (node.type === 'Literal' && CAPITALIZED.test(node.value)) ||
        (chunks.some(chunk => /\p{L}/u.test(chunk)) && isShown(node));
      if (isText && !isInternal(node)) {
        context.report({ node, messageId: 'untranslated' });
      }
    };
    return {
      Literal(node) {
        if (typeof node.value === 'string') {
          check(node);
        }
      },
      TemplateLiteral: check,
      CallExpression(node) {
        const messages = node.arguments.slice(0, TRANSLATE.get(getCallName(node)) ?? 0);
        for (const message of messages) {
          if (message.type !== 'Literal' || typeof message.value !== 'string') {
            context.report({ node: message, messageId: 'computed' });
          }
        }
      }
    };
  }
};
